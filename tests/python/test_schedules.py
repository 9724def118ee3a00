# SPDX-License-Identifier: Apache-2.0
"""Interleaved 1F1B and zero bubble from partition through plan to verify and simulate."""
import json
import shutil

import pytest

from conftest import PAPER_RUN, W_PROFILE, ask, assign, refuse, run

KINDS = [("1f1b", 1), ("gpipe", 1), ("interleaved", 2), ("interleaved", 3), ("zb-h1", 1), ("zb-v", 2)]


def rank_of(kind, stage, pp):
    return 2 * pp - 1 - stage if kind == "zb-v" and stage >= pp else stage % pp


def listed(numbers):
    return ",".join(map(str, numbers))


def simulated(answer, kind, chunks, micro_batches):
    return ask("simulate", "--profile", W_PROFILE, "--cuts", listed(answer["cuts"]),
               "--recompute-layers", listed(answer["recompute"]), "--micro-batches", micro_batches,
               "--schedule", kind, "--chunks", chunks, "--pp", len(answer["ranks"]))


@pytest.mark.parametrize("kind, chunks", KINDS)
@pytest.mark.parametrize("method, recompute, memory", [
    ("joint", "joint", None), ("joint", "joint", 75), ("bmp", "bar", 75),
    ("even-layers", "joint", 75), ("min-max", "none", None)])
def test_partition_gives_cuts_of_all_stages_within_the_memory_of_a_rank(
        kind, chunks, method, recompute, memory):
    if memory and kind == "gpipe":
        memory *= 8  # it holds all micro-batches
    if memory and method != "joint":  # weight gradients that wait hold what recomputation saved
        memory = {"zb-h1": 145, "zb-v": 95}.get(kind, memory)
    limit = ["--memory", f"{memory}GB"] if memory else []
    answer = ask("partition", W_PROFILE, "--pp", 4, "--micro-batches", 12, "--schedule", kind,
                 "--chunks", chunks, "--method", method, "--recompute", recompute, *limit)
    assert answer["schedule"] == {"kind": kind, "chunks": chunks}
    assert len(answer["cuts"]) == 4 * chunks - 1
    assert [stage["rank"] for stage in answer["stages"]] == [
        rank_of(kind, s, 4) for s in range(4 * chunks)]
    found = simulated(answer, kind, chunks, 12)
    assert answer["makespan_s"] == pytest.approx(found["makespan_s"], rel=1e-12)
    assert [rank["peak_bytes"] for rank in answer["ranks"]] == [
        rank["peak_bytes"] for rank in found["ranks"]]
    assert [12 * rank["busy_s"] for rank in answer["ranks"]] == pytest.approx(
        [rank["busy_s"] for rank in found["ranks"]])
    if memory:
        assert max(rank["peak_bytes"] for rank in answer["ranks"]) <= memory * 10**9
    assert answer["lower_bound_s"] <= answer["bottleneck_s"] * (1 + 1e-12)
    assert answer["bottleneck_s"] == pytest.approx(max(r["busy_s"] for r in answer["ranks"]))
    if method == "joint":
        assert answer["certificate"]["makespan_bound_s"] <= answer["makespan_s"] * (1 + 1e-12)


@pytest.mark.parametrize("kind, chunks", KINDS[2:])
def test_joint_is_no_slower_than_any_other_method(kind, chunks):
    def makespan(*method):
        return ask("partition", W_PROFILE, "--pp", 8, "--micro-batches", 16, "--schedule", kind,
                   "--chunks", chunks, *method)["makespan_s"]
    best = makespan()
    for method in ("bmp", "min-max", "least-variance", "anchor", "even-layers"):
        assert best <= makespan("--method", method, "--recompute", "none") * (1 + 1e-12)
    assert best < makespan("--method", "even-layers", "--recompute", "none")


@pytest.mark.parametrize("recompute", ["joint", "bar"])
def test_too_little_memory_names_the_rank(recompute):
    error = refuse(4, "partition", W_PROFILE, "--pp", 4, "--micro-batches", 12, "--schedule", "zb-v",
                   "--memory", "20GB", "--recompute", recompute)
    assert error["code"] == "memory_infeasible" and "rank" in error["message"]
    assert error["value"] > error["limit"] == 20 * 10**9
    enough = ask("partition", W_PROFILE, "--pp", 4, "--micro-batches", 12, "--schedule", "zb-v",
                 "--memory", error["value"], "--recompute", "joint")
    assert max(rank["peak_bytes"] for rank in enough["ranks"]) <= error["value"]


def test_chunks_that_a_schedule_does_not_take_are_refused():
    for kind, chunks in (("interleaved", 1), ("zb-v", 3), ("1f1b", 2)):
        error = refuse(2, "partition", W_PROFILE, "--pp", 4, "--micro-batches", 12, "--schedule",
                       kind, "--chunks", chunks)
        assert error["where"]["key"] == "--chunks"


@pytest.fixture(scope="module")
def plans(small_corpus, tmp_path_factory):
    """A plan for each schedule, links costing time."""
    made = {}
    for kind, chunks in KINDS:
        directory = tmp_path_factory.mktemp("schedules") / "plan"
        ask("plan", small_corpus, *PAPER_RUN, "--schedule", kind, "--chunks", chunks, "--out",
            directory)
        made[kind, chunks] = directory
    return made


@pytest.mark.parametrize("kind, chunks", KINDS)
def test_a_plan_verifies_and_simulates_to_its_prediction(plans, kind, chunks):
    directory = plans[kind, chunks]
    document = json.loads((directory / "plan.json").read_text())
    assert document["schedule"] == {"kind": kind, "chunks": chunks}
    assert len(document["partition"]["cuts"]) == 4 * chunks - 1
    assert [stage["rank"] for stage in document["partition"]["stages"]] == [
        rank_of(kind, s, 4) for s in range(4 * chunks)]
    peaks = [rank["peak_bytes"] for rank in document["partition"]["ranks"]]
    assert max(peaks) == document["prediction"]["peak_bytes"] <= document["memory_bytes"]
    answer = ask("verify", directory)
    assert answer["ok"], [check for check in answer["checks"] if not check["ok"]]
    steps = [ask("simulate", directory, "--step", step)["makespan_s"]
             for step in range(document["steps"]["count"])]
    assert sum(steps) / len(steps) == pytest.approx(document["prediction"]["step_s"], rel=1e-9)


@pytest.mark.parametrize("kind, chunks", KINDS[1:])
def test_the_papers_rows_are_1f1b_whatever_the_schedule(plans, kind, chunks):
    def rows(key):
        document = json.loads((plans[key] / "plan.json").read_text())
        return {row["name"]: row for row in document["ablation"]}
    reference, found = rows(("1f1b", 1)), rows((kind, chunks))
    for name in ("baseline", "+data", "+model", "+memory", "+packs", "+joint"):
        assert found[name] == reference[name]
    assert "+schedule" not in reference and len(found["+schedule"]["cuts"]) == 4 * chunks - 1
    assert found["+steps"]["cuts"] == found["+schedule"]["cuts"]


@pytest.mark.parametrize("path, value", [
    (("schedule", "chunks"), 1), (("schedule", "chunks"), 4), (("schedule", "kind"), "1f1b"),
    (("schedule", "kind"), "zb-v"), (("partition", "ranks", 1, "peak_bytes"), 10**9),
    (("partition", "ranks", 1, "stages"), [1, 2]), (("partition", "stages", 4, "rank"), 1)])
def test_verify_finds_a_schedule_that_was_changed(plans, tmp_path, path, value):
    plan = shutil.copytree(plans["interleaved", 2], tmp_path / "plan")
    document = json.loads((plan / "plan.json").read_text())
    assign(path, value)(document)
    (plan / "plan.json").write_text(json.dumps(document))
    done = run("verify", plan, "--ignore-checksums", "--json")
    assert done.returncode == 3 and not json.loads(done.stdout)["ok"]


def test_few_cuts_for_a_schedule_are_said_to_fill_few_ranks():
    command = ["simulate", "--profile", W_PROFILE, "--cuts", "23,46,72", "--micro-batches", 8,
               "--schedule", "interleaved"]
    done = run(*command)
    assert done.returncode == 0 and "4 stages on 2 ranks" in done.stderr
    error = refuse(2, *command, "--pp", 4)
    assert error["value"] == 4 and error["limit"] == 2 and "7 cuts" in error["hint"]
    assert run(*command, "--pp", 2).stderr == ""


def test_partition_warns_of_ranks_fuller_than_the_clusters_devices():
    done = run("partition", W_PROFILE, "--pp", 4, "--micro-batches", 16, "--cluster", "a100-80g")
    assert done.returncode == 0 and "a device of a100-80g has" in done.stderr
    fits = run("partition", W_PROFILE, "--pp", 4, "--micro-batches", 16, "--cluster", "a100-80g",
               "--memory", "70GB")
    assert fits.returncode == 0 and fits.stderr == ""
