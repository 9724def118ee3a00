# SPDX-License-Identifier: Apache-2.0
"""Figures of the paper's tables 2 and 3, as the program prints them on internvl-1.2m."""
import subprocess
import sys

import pytest

from conftest import PAPER_PLAN, PROGRAM, SHARED_LENGTHS, ask

# Prints the most KiB that the program it is given had: the peak of a process counts what it was
# started from, so that is small.
PEAK_OF = """import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"""


@pytest.fixture(scope="module")
def table_3(internvl_corpus):
    answer = ask("compare", internvl_corpus, "--dp", "8", "--micro-batch", "4",
                 "--vision-cap", "9", "--token-cap", "4096")
    return {row["method"]: row for row in answer["rows"]}


@pytest.mark.parametrize("method, pad, tolerance", [
    ("random", 0.31, 0.02), ("sorted", 0.011, 0.004), ("device-group", 0.378, 0.02),
    ("isf", 0.0, 0.0)])
def test_table_3_padding(table_3, method, pad, tolerance):
    assert table_3[method]["pad_ratio"] == pytest.approx(pad, abs=tolerance)


@pytest.mark.parametrize("method, vision, tokens, tolerance", [
    ("sorted", 0.47, 0.40, 0.03), ("isf", 0.02, 0.14, 0.01)])
def test_table_3_imbalance(table_3, method, vision, tokens, tolerance):
    dist = table_3[method]["dist_ratio"]
    assert dist["vision"] == pytest.approx(vision, abs=tolerance)
    assert dist["tokens"] == pytest.approx(tokens, abs=tolerance)


def test_formed_steps_beat_random_order(table_3):
    ours, paper = table_3["omnibal"]["dist_ratio"], table_3["isf"]["dist_ratio"]
    for load in ("vision", "tokens", "attention", "time"):
        assert ours[load] < 0.2 * paper[load]


@pytest.fixture(scope="module")
def paper_plan(internvl_corpus, tmp_path_factory):
    return ask("plan", internvl_corpus, *PAPER_PLAN,
               "--out", tmp_path_factory.mktemp("paper") / "plan")


@pytest.mark.parametrize("name, gpu_days", [
    ("baseline", 61.8), ("+data", 51.9), ("+model", 29.0), ("+memory", 21.3)])
def test_table_2(paper_plan, name, gpu_days):
    rows = {row["name"]: row for row in paper_plan["ablation"]}
    assert rows[name]["gpu_days"] == pytest.approx(gpu_days, rel=0.05)


def test_bound_without_idle_time(paper_plan):
    assert paper_plan["bound"]["gpu_days"] == pytest.approx(18.3, rel=0.01)


def test_balanced_cuts_are_near_the_papers(paper_plan):
    rows = {row["name"]: row for row in paper_plan["ablation"]}
    for name in ("+model", "+memory"):
        assert all(abs(ours - paper) <= 1
                   for ours, paper in zip(rows[name]["cuts"], [22, 44, 71], strict=True))
    assert rows["+steps"]["cuts"] == rows["+joint"]["cuts"] == paper_plan["partition"]["cuts"]


def test_cuts_and_recomputation_chosen_together_beat_two_steps(paper_plan):
    days = {row["name"]: row["gpu_days"] for row in paper_plan["ablation"]}
    assert days["+joint"] < days["+memory"] and days["+steps"] < days["+joint"]


def test_planning_stays_within_400_mib(internvl_corpus):
    done = subprocess.run([sys.executable, "-c", PEAK_OF, PROGRAM, "plan", internvl_corpus, *PAPER_PLAN,
                           "--dry-run"], check=True, capture_output=True, text=True, timeout=600)
    assert 50 * 1024 < int(done.stdout) < 400 * 1024


@pytest.mark.skipif(not SHARED_LENGTHS.is_dir(), reason="the real length files are not here")
@pytest.mark.parametrize("vision_cap, packs", [(9, 18987), (12, 11063), (15, 8065)])
def test_isf_packs_real_lengths_like_the_released_code(vision_cap, packs):
    files = sorted(SHARED_LENGTHS.glob("*.json"))
    answer = ask("pack", *files, "--method", "isf", "--vision-cap", vision_cap,
                 "--token-cap", "4096", "--rounds", "50", "--token-floor", "3968")
    assert answer["packs"] == pytest.approx(packs, rel=0.005)
    assert answer["placed"] + answer["rejected"] == answer["samples"] == 30730


def test_order_inside_steps_gains(paper_plan):
    days = {row["name"]: row["gpu_days"] for row in paper_plan["ablation"]}
    assert days["+order"] < 0.98 * days["+steps"]


def test_zero3_pair_at_one_rate(internvl_corpus):
    """The rate is fitted on the balanced run; the unbalanced one is predicted."""
    paper = {"baseline": 38.9, "balanced": 25.3}
    probe = ask("plan", internvl_corpus, *PAPER_PLAN, "--zero3", 100, "--dry-run")["zero3"]
    rate = 100 * probe["balanced"]["gpu_days"] / paper["balanced"]
    fitted = ask("plan", internvl_corpus, *PAPER_PLAN, "--zero3", rate, "--dry-run")["zero3"]
    for run, gpu_days in paper.items():
        assert fitted[run]["gpu_days"] == pytest.approx(gpu_days, rel=0.05)
