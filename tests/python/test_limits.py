# SPDX-License-Identifier: Apache-2.0
"""Caps that the program chooses."""
import pytest

from conftest import PAPER_PLAN, ask, refuse, run, write_lengths

MODEL = ["--model", "internvit-300m+qwen2.5-0.5b", "--cluster", "a100-80g", "--gpus", 4, "--tp", 1,
         "--pp", 2, "--dp", 2, "--global-batch", 64]


@pytest.fixture(scope="module")
def lengths(tmp_path_factory):
    rows = [(1 + i % 5, 256 * (1 + i % 5) + 37 * (i % 13), 1 + i % 5) for i in range(600)]
    return write_lengths(tmp_path_factory.mktemp("limits") / "lengths.json", rows)


def test_plan_and_pack_choose_and_explain(lengths, tmp_path):
    planned = ask("plan", lengths, *MODEL, "--out", tmp_path / "plan")
    packed = ask("pack", lengths, "--dp", 2)
    for answer in (planned, packed):
        assert answer["limits"]["chosen_by"] == "auto"
        assert answer["rejected"] == 0 and answer["over_cap"] == 0
        why = answer["limits"]["explanation"]
        assert why["vision"]["binds"] and why["tokens"]["binds"]
        assert all(other["slower_by"] >= 0 for other in why["runners_up"] + [why["paper"]])
    assert ask("verify", tmp_path / "plan")["ok"]
    text = run("plan", lengths, *MODEL, "--dry-run").stdout
    assert "caps chosen for internvit-300m+qwen2.5-0.5b" in text and "the paper's" in text


def test_micro_batches_keep_the_global_batch(lengths):
    answer = ask("plan", lengths, *MODEL, "--dry-run")
    in_pack = answer["placed"] / answer["packs"]
    per_step = answer["parallel"]["micro_batches"] * 2 * in_pack
    assert per_step == pytest.approx(64, abs=in_pack + 1)
    assert answer["parallel"]["micro_batches"] == answer["limits"]["explanation"]["micro_batches"]


def test_given_caps_are_not_chosen(lengths):
    caps = ["--vision-cap", 9, "--token-cap", 4096]
    assert ask("pack", lengths, *caps)["limits"]["chosen_by"] == "given"
    one = ask("pack", lengths, "--vision-cap", 9)["limits"]
    assert one["vision_cap"] == 9 and one["explanation"]["vision"]["binds"] == "given"


def test_the_papers_caps_on_internvl(internvl_corpus):
    limits = ask("pack", internvl_corpus, "--limits", "paper")["limits"]
    assert (limits["vision_cap"], limits["token_cap"]) == (9, 4096)
    assert limits["chosen_by"] == "paper" and "explanation" not in limits


def test_compare_keeps_the_papers_caps(small_corpus):
    by_default = ask("compare", small_corpus, "--dp", 8)
    by_hand = ask("compare", small_corpus, "--dp", 8, "--vision-cap", 9, "--token-cap", 4096)
    figures = [[(row["method"], row["packs"]) for row in answer["rows"]]
               for answer in (by_default, by_hand)]
    assert figures[0] == figures[1]


def test_the_papers_rows_do_not_depend_on_chosen_caps(small_corpus):
    given = ask("plan", small_corpus, *PAPER_PLAN, "--dry-run")
    chosen = ask("plan", small_corpus, *PAPER_PLAN[:-4], "--dry-run")
    assert [row["name"] for row in chosen["ablation"][:4]] == [
        "baseline", "+data", "+model", "+memory"]
    assert chosen["ablation"][:4] == given["ablation"][:4]
    for answer in (chosen, given):  # packer auto in both
        assert [row["name"] for row in answer["ablation"][4:]] == ["+packs", "+joint", "+steps", "+order"]
        assert answer["ablation"][6]["step_s"] < answer["ablation"][5]["step_s"] <= 1.001 * answer["ablation"][4]["step_s"]
    papers = ask("plan", small_corpus, *PAPER_PLAN, "--method", "isf", "--dry-run")
    assert [row["name"] for row in papers["ablation"][4:]] == ["+joint", "+steps", "+order"]
    assert chosen["prediction"]["gpu_days"] <= given["prediction"]["gpu_days"]


def test_chosen_caps_are_the_same_for_any_number_of_threads(lengths):
    one, many = (ask("plan", lengths, *MODEL, "--dry-run", "--threads", n) for n in (1, 3))
    one.pop("seconds"), many.pop("seconds")
    assert one == many


def test_cp_and_tp_round_chosen_token_caps(lengths):
    limits = ask("pack", lengths, "--cp", 2, "--tp", 3)["limits"]
    assert limits["token_multiple"] == 24 and limits["token_cap"] % 24 == 0


def test_too_few_samples_for_the_papers_search(tmp_path):
    few = write_lengths(tmp_path / "few.json", [(1, 300, 1)] * 3)
    error = refuse(4, "pack", few, "--limits", "paper")
    assert error["code"] == "no_feasible_limits" and error["value"] == 4
    assert "3 samples cannot fill a pack of 4" in error["message"] and error["hint"]


def test_memory_that_holds_no_sample(lengths):
    error = refuse(4, "plan", lengths, *MODEL, "--memory", "1GB", "--dry-run")
    assert error["code"] == "memory_infeasible" and "--memory" in error["hint"]


def test_samples_too_large_for_memory_are_rejected_and_counted(tmp_path):
    rows = [(2, 900, 2)] * 50 + [(2, 700_000, 2)] * 2
    lengths = write_lengths(tmp_path / "lengths.json", rows)
    answer = ask("plan", lengths, *MODEL, "--memory", "12GiB", "--dry-run")
    assert answer["rejected"] == 2 == answer["limits"]["explanation"]["too_large"]
    text = run("plan", lengths, *MODEL, "--memory", "12GiB", "--dry-run").stdout
    assert "2 samples fit in memory with no caps" in text
    assert refuse(3, "plan", lengths, *MODEL, "--memory", "12GiB", "--dry-run", "--over-long",
                  "error")["code"] == "token_cap_exceeded"
