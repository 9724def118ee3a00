# SPDX-License-Identifier: Apache-2.0
"""`plan` without sizes: what is searched, what the plan says about it, and how few GPUs suffice."""

import json
import shutil

import pytest

from conftest import PAPER_PLAN, PAPER_RUN, W_PROFILE, ask, assign, refuse, run

MODEL = ("--model", "internvl-chat-1.5-26b", "--cluster", "a100-80g", "--global-batch", 256,
         "--links", "free")


def lie(directory, path, value):
    document = json.loads((directory / "plan.json").read_text())
    assign(path, value)(document)
    (directory / "plan.json").write_text(json.dumps(document))


def refused_by_verify(directory):
    done = run("verify", directory, "--ignore-checksums", "--json")
    assert done.returncode == 3
    return [check["name"] for check in json.loads(done.stdout)["checks"] if not check["ok"]]


def hours(count):
    return count["hours"]


def test_a_plan_without_sizes_verifies_and_says_why_the_others_lose(small_corpus, tmp_path):
    plan = ask("plan", small_corpus, *MODEL, "--gpus", 16, "--out", tmp_path / "plan")
    best, *others = plan["search"]["candidates"]
    assert {k: plan["parallel"][k] for k in ("tp", "pp", "dp")} == {
        k: best["parallel"][k] for k in ("tp", "pp", "dp")}
    assert all(other["gpu_days"] >= best["gpu_days"] and other["reason"] for other in others)
    assert abs(plan["prediction"]["gpu_days"] / best["gpu_days"] - 1) < 0.1
    assert ask("verify", tmp_path / "plan")["ok"]


def test_an_open_schedule_is_searched_and_a_given_one_is_not(small_corpus, tmp_path):
    sizes = ("--gpus", 16, "--tp", 2, "--pp", 4)
    plan = ask("plan", small_corpus, *MODEL, *sizes, "--out", tmp_path / "plan")
    candidates = plan["search"]["candidates"]
    assert all(c["parallel"]["tp"] == 2 and c["parallel"]["pp"] == 4 for c in candidates)
    assert {c["schedule"]["kind"] for c in candidates} == {"1f1b", "interleaved", "zb-h1", "zb-v"}
    assert plan["schedule"] == candidates[0]["schedule"]
    assert ask("verify", tmp_path / "plan")["ok"]
    lie(tmp_path / "plan", ["search", "candidates", 0, "parallel", "tp"], 4)
    assert refused_by_verify(tmp_path / "plan") == ["explanations"]
    given = ask("plan", small_corpus, *MODEL, *sizes, "--schedule", "1f1b", "--dry-run")
    assert "search" not in given and given["schedule"] == {"kind": "1f1b", "chunks": 1}
    assert plan["prediction"]["gpu_days"] < given["prediction"]["gpu_days"]


@pytest.mark.parametrize("memory", ["28GB", "30GB"])
def test_an_open_schedule_holds_what_a_given_one_holds(small_corpus, memory):
    """Where the lowest caps alone fit, none of those along the corpus's ratio does."""
    short = (*MODEL, "--gpus", 64, "--tp", 2, "--pp", 4, "--dry-run", "--memory", memory)
    given = run("plan", small_corpus, *short, "--schedule", "1f1b", "--json")
    found = run("plan", small_corpus, *short, "--json")
    if given.returncode == 0:
        assert found.returncode == 0
        assert json.loads(found.stdout)["rejected"] <= json.loads(given.stdout)["rejected"]
    elif found.returncode != 0:
        assert found.returncode == 4
        assert json.loads(found.stdout)["error"]["code"] == "memory_infeasible"


@pytest.mark.parametrize("sizes", [("--gpus", 8, "--tp", 2, "--pp", 4, "--schedule", "1f1b"),
                                   ("--gpus", 64, "--tp", 2, "--pp", 4)])
def test_the_memory_that_is_asked_for_is_enough(small_corpus, sizes):
    short = (*MODEL, *sizes, "--dry-run")
    error = refuse(4, "plan", small_corpus, *short, "--memory", "12GB")
    assert error["code"] == "memory_infeasible"
    assert "rank" in error["message"] or "stage" in error["message"]
    assert "--gpus" in error["hint"] or "GPUs" in error["hint"]
    ask("plan", small_corpus, *short, "--memory", error["value"])


def test_rows_of_plans_that_do_not_fit_say_so(small_corpus):
    short = ("plan", small_corpus, *MODEL, "--gpus", 64, "--tp", 2, "--pp", 4, "--schedule", "1f1b",
             "--memory", "29GB", "--dry-run")
    plan = ask(*short)
    rows = {row["name"]: row for row in plan["ablation"]}
    assert rows["+model"]["peak_bytes"] > 29e9 > rows["+joint"]["peak_bytes"]
    assert rows["+order"]["peak_bytes"] == plan["prediction"]["peak_bytes"]
    told = {line.split()[0]: line for line in run(*short).stdout.splitlines() if line.startswith("+")}
    assert "does not fit" in told["+model"] and "does not fit" not in told["+joint"]


def test_what_every_pack_takes_is_in_the_bound(small_corpus):
    """A profile of constants: W has the same seconds at every load."""
    plan = ask("plan", small_corpus, "--model", "internvl-chat-1.5-26b", "--cluster", "a100-80g",
               "--gpus", 64, "--tp", 2, "--pp", 4, "--schedule", "1f1b", "--vision-cap", 9,
               "--token-cap", 4096, "--global-batch", 256, "--profile", W_PROFILE, "--links", "free",
               "--dry-run")
    forward_s = sum(layer["forward_s"] for layer in json.loads(W_PROFILE.read_text())["layers"])
    gpu_seconds = 2 * 3 * forward_s * plan["packs"]  # of tp 2; backward takes twice the forward
    assert plan["bound"]["gpu_days"] == pytest.approx(gpu_seconds / 86400)


def test_no_choice_wins_by_leaving_samples_out(small_corpus):
    """Where memory is short, a choice that has no caps for the large samples takes least time."""
    model = ("--model", "internvl-chat-1.5-26b", "--cluster", "a100-80g", "--global-batch", 128,
             "--memory", "42GB")
    plan = ask("plan", small_corpus, *model, "--gpus", 16, "--dry-run")
    candidates = plan["search"]["candidates"]
    assert plan["rejected"] == candidates[0]["rejected"] == 0
    assert any(c["rejected"] > 0 and c["gpu_days"] < candidates[0]["gpu_days"] for c in candidates)
    lossy = next(c for c in candidates if c["rejected"] > 0)
    assert str(lossy["rejected"]) in lossy["reason"]
    few = ask("plan", small_corpus, *model, "--gpus", 64, "--hours", 1000, "--dry-run")
    assert few["rejected"] == 0


def test_what_a_measured_profile_says_is_not_overruled(small_corpus, tmp_path):
    ask("profile", "--model", MODEL[1], "--cluster", "a100-80g", "--tp", 1, "--out", tmp_path / "p.json")
    common = ("plan", small_corpus, *MODEL, "--gpus", 16, "--pp", 8, "--profile", tmp_path / "p.json", "--dry-run")
    for flags in (("--tp", 1, "--freeze", "vision"), ("--tp", 1, "--lora", "llm"), ("--tp", 2)):
        error = refuse(2, *common, *flags)
        assert error["where"]["key"] == (flags[2] if len(flags) > 2 else "--tp")


def test_a_plan_trains_something(small_corpus):
    error = refuse(2, "plan", small_corpus, *MODEL, "--gpus", 16, "--tp", 2, "--pp", 4, "--freeze",
                   "vision,projector,llm", "--dry-run")
    assert error["where"]["key"] == "--freeze"


def test_chunks_restrict_the_search(small_corpus):
    plan = ask("plan", small_corpus, *MODEL, "--gpus", 16, "--tp", 2, "--pp", 4, "--chunks", 3, "--dry-run")
    assert plan["schedule"] == {"kind": "interleaved", "chunks": 3}


def test_a_given_size_stays(small_corpus):
    plan = ask("plan", small_corpus, *MODEL, "--gpus", 16, "--tp", 4, "--dry-run")
    assert plan["parallel"]["tp"] == 4
    assert all(c["parallel"]["tp"] == 4 for c in plan["search"]["candidates"])


def test_the_fewest_gpus_within_hours(small_corpus):
    plan = ask("plan", small_corpus, *MODEL, "--hours", 0.5, "--gpus", 64, "--dry-run")
    counts = plan["search"]["counts"]
    chosen = plan["search"]["gpus"]
    parallel = plan["parallel"]
    assert parallel["tp"] * parallel["pp"] * parallel["dp"] == chosen
    assert all((hours(count) <= 0.5) == (count["gpus"] >= chosen) for count in counts)
    assert any(count["gpus"] < chosen for count in counts)


def test_what_cannot_be_searched(small_corpus):
    assert "--gpus" in refuse(2, "plan", small_corpus, *MODEL, "--dry-run")["hint"]
    refuse(2, "plan", small_corpus, *MODEL, "--hours", 0, "--dry-run")
    error = refuse(4, "plan", small_corpus, *MODEL, "--hours", 0.001, "--gpus", 16, "--dry-run")
    assert "16 GPUs" in error["message"]


@pytest.mark.parametrize("memory, most_rejected", [(66, 0), (54, 0), (46, 100)])
def test_caps_hold_what_cuts_made_for_the_memory_leave_room_for(small_corpus, tmp_path, memory, most_rejected):
    """Cuts by time alone leave no room for the largest samples; cuts and recomputation chosen together do."""
    plan = ask("plan", small_corpus, *MODEL, "--gpus", 64, "--tp", 1, "--pp", 8, "--schedule", "zb-v",
               "--memory", f"{memory}GB", "--out", tmp_path / "plan")
    assert plan["rejected"] <= most_rejected
    assert plan["prediction"]["peak_bytes"] <= memory * 10**9
    # The paper's rows hold samples that the plan's caps may reject: verify allows for both.
    assert ask("verify", tmp_path / "plan")["ok"]


def test_layouts_beside_a_plan(small_corpus, tmp_path):
    sizes = ("--gpus", 16, "--tp", 2, "--pp", 4, "--schedule", "1f1b")
    plan = ask("plan", small_corpus, *MODEL, *sizes, "--layout", "auto", "--out", tmp_path / "plan")
    layouts = plan["layouts"]
    steps = [row["step_s"] for row in layouts["ranked"]]
    assert steps == sorted(steps) and layouts["best"] == layouts["ranked"][0]["layout"]
    assert {row["layout"] for row in layouts["ranked"]} == {"integrated", "colocated", "disjoint"}
    assert all(row["reason"] and row["peak_bytes"] <= plan["memory_bytes"] for row in layouts["ranked"])
    own = next(row for row in layouts["ranked"] if row["layout"] == "integrated")
    assert plan["layout"] == "integrated" and own["step_s"] == plan["prediction"]["step_s"]
    # Heads that tp 2 cannot split are no matter of a tower at tp 1.
    assert all(row["shares"]["replicated"] < 1e-9 for row in layouts["ranked"]
               if row.get("vision", {}).get("tp") == 1)
    assert own["shares"]["replicated"] > 0.05
    assert ask("verify", tmp_path / "plan")["ok"]
    for path, value in ((["layouts", "best"], "disjoint" if layouts["best"] != "disjoint" else "integrated"),
                        (["layouts", "ranked", 0, "step_s"], 0.001),
                        (["layouts", "ranked", 0, "bound", "gpu_days"], 1e9),
                        (["layouts", "ranked", 0, "certificate", "lower_bound_s"], 1e9)):
        copy = shutil.copytree(tmp_path / "plan", tmp_path / f"lies-about-{path[-1]}")
        lie(copy, path, value)
        assert refused_by_verify(copy) == ["explanations"]
    only = ask("plan", small_corpus, *MODEL, *sizes, "--layout", "disjoint", "--dry-run")["layouts"]
    assert {row["layout"] for row in only["ranked"]} == {"integrated", "disjoint"}


def test_no_layouts_of_a_measured_profile(small_corpus, tmp_path):
    ask("profile", "--model", "internvl-chat-1.5-26b", "--cluster", "a100-80g", "--tp", 2,
        "--out", tmp_path / "profile.json")
    error = refuse(2, "plan", small_corpus, *MODEL, "--gpus", 16, "--tp", 2, "--pp", 4, "--profile",
                   tmp_path / "profile.json", "--layout", "auto", "--dry-run")
    assert error["where"]["key"] == "--layout"


def test_a_plan_against_another(small_corpus, small_plan, tmp_path):
    same = ask("plan", small_corpus, *PAPER_PLAN, "--diff", small_plan, "--dry-run")["diff"]
    assert same == {"other": str(small_plan), "changes": []}
    answer = ask("plan", small_corpus, *PAPER_RUN, "--diff", small_plan, "--out", tmp_path / "plan")
    changes = {change["key"]: change for change in answer["diff"]["changes"]}
    assert changes["schedule.kind"]["other"] == "1f1b"
    assert changes["prediction.step_s"]["ratio"] < 1
    assert "diff" not in json.loads((tmp_path / "plan" / "plan.json").read_text())
    refuse(3, "plan", small_corpus, *PAPER_RUN, "--diff", tmp_path / "none", "--dry-run")


def test_a_step_far_from_the_global_batch_is_warned_of(small_corpus):
    def warned(global_batch, caps):
        plan = run("plan", small_corpus, "--model", "internvl-chat-1.5-26b", "--cluster", "a100-80g", "--gpus", 64,
                   "--tp", 2, "--pp", 4, "--schedule", "1f1b", "--vision-cap", caps[0],
                   "--token-cap", caps[1], "--global-batch", global_batch, "--dry-run")
        assert plan.returncode == 0 and "samples a step" in plan.stdout
        return "of the global batch of" in plan.stderr
    assert not warned(1024, (9, 4096))
    assert warned(32, (18, 8192))  # 8 ranks with a pack of eight samples each
