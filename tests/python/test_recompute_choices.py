# SPDX-License-Identifier: Apache-2.0
"""Named recomputation choices and adapters from the profile to the verified plan."""
import json
import shutil

import pytest

from conftest import PAPER_PLAN, ask, refuse, run

MODEL = ["--model", "internvl-chat-1.5-26b", "--cluster", "a100-80g", "--tp", 2, "--dp", 8]
CUT = ["--pp", 4, "--micro-batches", 32]


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    path = tmp_path_factory.mktemp("profile") / "profile.json"
    ask("profile", *MODEL, "--out", path)
    return path


def partition(profile, memory, choices, *more):
    return ask("partition", profile, *CUT, "--memory", memory, "--recompute-choices", choices, *more)


def peaks_by_hand(profile, answer):
    """Largest bytes of every stage: static + in flight x kept + the most rebuilt at once."""
    document = json.loads(profile.read_text())
    load = document["load"]

    def at(cost):
        terms = {"per_vision_unit": "vision_units", "per_token": "tokens",
                 "per_token_pair": "token_pairs"}
        if not isinstance(cost, dict):
            return cost
        return cost.get("constant", 0) + sum(cost[k] * load[terms[k]] for k in terms if k in cost)

    whole, named, peaks = set(answer["recompute"]), answer.get("recompute_choice", {}), []
    edges = [0, *answer["cuts"], len(document["layers"])]
    for stage, (begin, end) in enumerate(zip(edges, edges[1:])):
        fixed, kept, transient = 0, 0, 0
        for index in range(begin, end):
            layer = document["layers"][index]
            fixed += at(layer["static_bytes"])
            activation = at(layer["activation_bytes"])
            assert not (index in whole and str(index) in named)
            if index in whole:
                kept, transient = kept + at(layer["recomputed_bytes"]), max(transient, activation)
            elif str(index) in named:
                choice = next(c for c in layer["recompute_choices"]
                              if c["name"] == named[str(index)])
                kept += at(choice["kept_bytes"])
                transient = max(transient, at(choice["transient_bytes"]))
            else:
                kept += activation
        peaks.append(fixed + answer["stages"][stage]["in_flight"] * kept + transient)
    return peaks


@pytest.mark.parametrize("memory", ["45GB", "40GB"])
def test_more_choices_are_never_slower_and_fit(profile, memory):
    steps = []
    for choices in ["full", "selective", "offload"]:
        answer = partition(profile, memory, choices)
        steps.append(answer["makespan_s"])
        names = set(answer.get("recompute_choice", {}).values())
        assert ("recompute_choice" in answer) == (choices != "full")
        assert "offload" not in names or choices == "offload"
        for stage, peak in zip(answer["stages"], peaks_by_hand(profile, answer)):
            assert stage["peak_bytes"] == pytest.approx(peak, abs=300)
            assert stage["peak_bytes"] <= int(memory[:-2]) * 10**9
    assert steps[2] <= steps[1] * (1 + 1e-9) and steps[1] < 0.95 * steps[0]


def test_the_default_is_full(profile):
    default = ask("partition", profile, *CUT, "--memory", "45GB")
    full = partition(profile, "45GB", "full")
    for answer in (default, full):
        answer.pop("seconds"), answer.pop("solve_seconds")
    assert default == full


def test_simulate_takes_the_answer(profile):
    answer = partition(profile, "40GB", "selective")
    named = ",".join(f"{layer}:{name}" for layer, name in answer["recompute_choice"].items())
    simulated = ask("simulate", "--profile", profile, "--micro-batches", 32,
                    "--cuts", ",".join(map(str, answer["cuts"])),
                    "--recompute-layers", ",".join(map(str, answer["recompute"])),
                    "--recompute-choice", named)
    assert simulated["makespan_s"] == pytest.approx(answer["makespan_s"], rel=1e-12)
    assert [rank["peak_bytes"] for rank in simulated["ranks"]] == \
        [stage["peak_bytes"] for stage in answer["stages"]]


def test_flags_that_do_not_go_together(profile):
    error = refuse(2, "partition", profile, *CUT, "--recompute", "bar", "--memory", "45GB",
                   "--recompute-choices", "selective")
    assert error["code"] == "invalid_argument" and "joint" in error["message"]
    refuse(2, "partition", profile, *CUT, "--restrict", "megatron", "--recompute-choices", "selective")
    simulate = ["simulate", "--profile", profile, "--micro-batches", 8, "--recompute-choice"]
    assert refuse(2, *simulate, "3")["where"]["key"] == "--recompute-choice"
    assert "mlp" in refuse(3, *simulate, "3:norms")["hint"]
    assert refuse(3, *simulate, "300:mlp")["code"] == "out_of_range"
    refuse(3, *simulate, "3:mlp", "--recompute-layers", "0-5")
    error = refuse(2, "profile", *MODEL, "--lora-rank", 8, "--out", profile.with_name("q.json"))
    assert error["where"]["key"] == "--lora-rank"
    refuse(2, "profile", *MODEL, "--lora", "vision", "--lora-targets", "gate",
           "--out", profile.with_name("q.json"))


@pytest.fixture(scope="module")
def selective_plan(small_corpus, tmp_path_factory):
    directory = tmp_path_factory.mktemp("selective") / "plan"
    ask("plan", small_corpus, *PAPER_PLAN, "--memory", "42GB", "--recompute-choices", "selective",
        "--out", directory)
    return directory


def test_a_plan_with_choices_verifies_and_simulates(selective_plan, small_corpus):
    document = json.loads((selective_plan / "plan.json").read_text())
    assert document["recompute_choice"]
    assert document["provenance"]["options"]["recompute_choices"] == "selective"
    assert ask("verify", selective_plan)["ok"]
    stages = document["partition"]["stages"]
    assert max(stage["peak_bytes"] for stage in stages) <= 42 * 10**9
    full = ask("plan", small_corpus, *PAPER_PLAN, "--memory", "42GB", "--dry-run")
    assert "recompute_choice" not in full
    assert document["prediction"]["step_s"] < full["prediction"]["step_s"]
    breakdown = ask("simulate", selective_plan)["breakdown"]
    assert breakdown["recompute_s"] > 0
    # Its own choices given as flags change nothing; others do.
    named = ",".join(f"{i}:{name}" for i, name in document["recompute_choice"].items())
    flags = ["--recompute-layers", ",".join(map(str, document["recompute"])),
             "--recompute-choice", named]
    assert ask("simulate", selective_plan, *flags)["breakdown"] == breakdown
    assert ask("simulate", selective_plan, "--recompute-layers", "")["breakdown"]["recompute_s"] == 0


@pytest.mark.parametrize("change", [
    lambda choice: choice.update({"96": "mlp"}),
    lambda choice: choice.update({"x": "mlp"}),
    lambda choice: choice.update({next(iter(choice)): "norms"}),
    lambda choice: choice.update({next(iter(choice)): 3}),
    lambda choice: choice.pop(next(iter(choice))),
])
def test_a_plan_with_other_choices_than_it_says_is_refused(selective_plan, tmp_path, change):
    copy = tmp_path / "plan"
    shutil.copytree(selective_plan, copy)
    document = json.loads((copy / "plan.json").read_text())
    change(document["recompute_choice"])
    (copy / "plan.json").write_text(json.dumps(document))
    done = run("verify", copy, "--ignore-checksums", "--json")
    assert done.returncode == 3, done.stdout


def test_a_plan_with_adapters(small_corpus, tmp_path):
    lora = ["--freeze", "vision", "--lora", "llm", "--lora-rank", 16]
    adapted = ask("plan", small_corpus, *PAPER_PLAN, *lora, "--out", tmp_path / "plan")
    assert ask("verify", tmp_path / "plan")["ok"]
    options = json.loads((tmp_path / "plan" / "plan.json").read_text())["provenance"]["options"]
    assert (options["lora"], options["lora_rank"], options["lora_targets"]) == (["llm"], 16, ["all"])
    trained = ask("plan", small_corpus, *PAPER_PLAN, "--dry-run")
    assert adapted["prediction"]["step_s"] < trained["prediction"]["step_s"]
    assert adapted["prediction"]["peak_bytes"] < trained["prediction"]["peak_bytes"]
    assert adapted["bound"]["gpu_days"] < trained["bound"]["gpu_days"]
    assert 0 < adapted["prediction"]["mfu"] < 0.6


def test_adapted_models_are_cut_elsewhere(tmp_path):
    path = tmp_path / "lora.json"
    ask("profile", *MODEL, "--freeze", "vision", "--lora", "llm", "--out", path)
    joint = ask("partition", path, *CUT)
    forward = ask("partition", path, *CUT, "--method", "min-max")
    assert joint["cuts"] != forward["cuts"]
    assert joint["makespan_s"] < 0.9 * forward["makespan_s"]
