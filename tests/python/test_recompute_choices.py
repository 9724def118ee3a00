# SPDX-License-Identifier: Apache-2.0
"""Named recomputation choices and adapters from the profile to the verified plan."""
import json
import shutil

import pytest

from conftest import PAPER_PLAN, PAPER_RUN, ask, refuse, run

MODEL = ["--model", "internvl-chat-1.5-26b", "--cluster", "a100-80g", "--tp", 2, "--dp", 8]
CUT = ["--pp", 4, "--micro-batches", 32]


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    path = tmp_path_factory.mktemp("profile") / "profile.json"
    ask("profile", *MODEL, "--out", path)
    return path


def partition(profile, memory, choices, *more):
    return ask("partition", profile, *CUT, "--memory", memory, "--recompute-choices", choices, *more)


def at(cost, load):
    terms = {"per_vision_unit": "vision_units", "per_token": "tokens",
             "per_token_pair": "token_pairs"}
    if not isinstance(cost, dict):
        return cost
    return cost.get("constant", 0) + sum(cost[k] * load[terms[k]] for k in terms if k in cost)


def peaks_by_hand(profile, answer):
    """Largest bytes of every stage: static + in flight x kept + the most rebuilt at once."""
    document = json.loads(profile.read_text())

    def at_load(cost):
        return at(cost, document["load"])
    whole, named, peaks = set(answer["recompute"]), answer.get("recompute_choice", {}), []
    edges = [0, *answer["cuts"], len(document["layers"])]
    for stage, (begin, end) in enumerate(zip(edges, edges[1:])):
        fixed, kept, transient = 0, 0, 0
        for index in range(begin, end):
            layer = document["layers"][index]
            fixed += at_load(layer["static_bytes"])
            activation = at_load(layer["activation_bytes"])
            assert not (index in whole and str(index) in named)
            if index in whole:
                kept, transient = kept + at_load(layer["recomputed_bytes"]), max(transient, activation)
            elif str(index) in named:
                choice = next(c for c in layer["recompute_choices"]
                              if c["name"] == named[str(index)])
                kept += at_load(choice["kept_bytes"])
                transient = max(transient, at_load(choice["transient_bytes"]))
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


@pytest.mark.parametrize("schedule, memory", [("1f1b", 40), ("gpipe", 75), ("interleaved", 50),
                                              ("zb-h1", 65), ("zb-v", 60)])
def test_simulate_takes_the_answer(profile, schedule, memory):
    answer = partition(profile, f"{memory}GB", "selective", "--schedule", schedule)
    named = ",".join(f"{layer}:{name}" for layer, name in answer["recompute_choice"].items())
    simulated = ask("simulate", "--profile", profile, "--micro-batches", 32,
                    "--cuts", ",".join(map(str, answer["cuts"])), "--schedule", schedule,
                    "--recompute-layers", ",".join(map(str, answer["recompute"])),
                    "--recompute-choice", named)
    assert simulated["makespan_s"] == pytest.approx(answer["makespan_s"], rel=1e-12)
    peaks = [rank["peak_bytes"] for rank in simulated["ranks"]]
    assert peaks == [rank["peak_bytes"] for rank in answer["ranks"]]
    assert max(peaks) <= memory * 10**9
    full = partition(profile, f"{memory}GB", "full", "--schedule", schedule)
    assert answer["makespan_s"] < full["makespan_s"]


def test_equal_layer_counts_take_choices_too(profile):
    answer = partition(profile, "60GB", "selective", "--restrict", "uniform")
    assert answer["cuts"] == [24, 48, 72] and answer["recompute_choice"]
    full = partition(profile, "60GB", "full", "--restrict", "uniform")
    assert answer["makespan_s"] < full["makespan_s"]


def test_what_is_offloaded_fits_the_hosts(tmp_path):
    """By hand: of every offloading layer all its bytes, of as many micro-batches as are in flight."""
    cluster = tmp_path / "cluster.toml"
    cluster.write_text('base = "a100-80g"\nhost_memory = "1500GB"\n')
    profile = tmp_path / "profile.json"
    ask("profile", *MODEL[:2], "--cluster", cluster, *MODEL[4:], "--out", profile)
    answer = partition(profile, "32GB", "offload", "--cluster", cluster)
    document, held = json.loads(profile.read_text()), []
    for stage in answer["stages"]:
        layers = range(stage["first_layer"], stage["first_layer"] + stage["num_layers"])
        offloading = [i for i in layers if answer["recompute_choice"].get(str(i)) == "offload"]
        held.append(stage["in_flight"] * sum(
            at(document["layers"][i]["activation_bytes"], document["load"]) for i in offloading))
    assert max(held) > 10**9
    cluster.write_text(f'base = "a100-80g"\nhost_memory = {8 * (int(max(held)) - 10**6)}\n')
    error = refuse(4, "partition", profile, *CUT, "--memory", "32GB", "--recompute-choices", "offload",
                   "--cluster", cluster)
    assert f"rank {held.index(max(held))}" in error["message"]
    assert error["value"] == pytest.approx(max(held), abs=1000)
    assert "selective" in error["hint"]


def test_a_cluster_that_says_nothing_of_its_hosts_offloads_nothing(tmp_path):
    cluster = tmp_path / "cluster.toml"
    cluster.write_text("device_memory = \"80GiB\"\npeak_flops = 312e12\nachieved_flops = 163e12\n"
                       "[inner]\nbytes_per_s = 300e9\n[outer]\nbytes_per_s = 25e9\n")
    profile = tmp_path / "profile.json"
    ask("profile", *MODEL[:2], "--cluster", cluster, *MODEL[4:], "--out", profile)
    assert "offload" not in profile.read_text() and "attention+mlp" in profile.read_text()


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
    assert document["prediction"]["peak_bytes_worst_pack"] <= document["prediction"]["peak_bytes"]
    assert 0 <= document["certificate"]["gap"] < 0.05
    assert all(case["loss"] >= 0 and case["recompute_choice"] for case in document["sensitivity"])
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


@pytest.mark.parametrize("schedule", ["interleaved", "zb-v"])
def test_plans_of_other_schedules_take_choices(small_corpus, tmp_path, schedule):
    sizes = [*PAPER_RUN, "--schedule", schedule, "--memory", "62GB"]
    named = ask("plan", small_corpus, *sizes, "--recompute-choices", "selective",
                "--out", tmp_path / "plan")
    assert named["recompute_choice"]
    assert ask("verify", tmp_path / "plan")["ok"]
    full = ask("plan", small_corpus, *sizes, "--dry-run")
    assert named["prediction"]["step_s"] < full["prediction"]["step_s"]
    assert named["prediction"]["peak_bytes"] <= 62 * 10**9


def test_offload_makes_a_plan_fit_where_whole_layers_do_not(small_corpus, tmp_path):
    sizes = [*PAPER_PLAN, "--memory", "30GB"]
    error = refuse(4, "plan", small_corpus, *sizes, "--dry-run")
    assert error["code"] == "memory_infeasible"
    ask("plan", small_corpus, *sizes, "--recompute-choices", "offload", "--out", tmp_path / "plan")
    assert ask("verify", tmp_path / "plan")["ok"]
    plan = json.loads((tmp_path / "plan" / "plan.json").read_text())
    assert plan["prediction"]["peak_bytes"] <= 30 * 10**9
    assert "offload" in plan["recompute_choice"].values()


@pytest.mark.parametrize("part, faster", [("vision", 0.75), ("llm", 0.9)])
def test_a_plan_of_frozen_parts(small_corpus, small_plan, tmp_path, part, faster):
    ask("plan", small_corpus, *PAPER_PLAN, "--freeze", part, "--out", tmp_path / "plan")
    assert ask("verify", tmp_path / "plan")["ok"]
    frozen = json.loads((tmp_path / "plan" / "plan.json").read_text())
    trained = json.loads((small_plan / "plan.json").read_text())
    assert frozen["partition"]["cuts"] != trained["partition"]["cuts"]
    assert frozen["prediction"]["step_s"] < faster * trained["prediction"]["step_s"]
    assert frozen["prediction"]["peak_bytes"] < trained["prediction"]["peak_bytes"]
    layers = json.loads((tmp_path / "plan" / "profile.json").read_text())["layers"]
    kind = {"vision": "vision_block", "llm": "llm_block"}[part]
    assert all(layer["trainable"] != (layer.get("kind") == kind) for layer in layers
               if layer.get("kind") in ("vision_block", "llm_block", "projector"))
    if part == "vision":  # nothing before the projector runs backward
        stage = frozen["partition"]["stages"][0]
        assert stage["backward_s"] == 0 or stage["num_layers"] > 45


def test_adapted_models_are_cut_elsewhere(tmp_path):
    path = tmp_path / "lora.json"
    ask("profile", *MODEL, "--freeze", "vision", "--lora", "llm", "--out", path)
    joint = ask("partition", path, *CUT)
    forward = ask("partition", path, *CUT, "--method", "min-max")
    assert joint["cuts"] != forward["cuts"]
    assert joint["makespan_s"] < 0.9 * forward["makespan_s"]
