# SPDX-License-Identifier: Apache-2.0
"""--reuse: a plan of the same inputs and options is kept, a stale one is refused (C06)."""
import os
import shutil

import pytest

from conftest import PAPER_PLAN, ask, refuse, write_lengths

ROWS = [(1 + i % 4, 300 * (1 + i % 4) + 7 * i % 200, 1 + i % 4) for i in range(120)]
LIMITS = ["--vision-cap", 9, "--token-cap", 4096, "--dp", 4, "--micro-batches", 2]


@pytest.fixture
def planned(tmp_path):
    lengths = write_lengths(tmp_path / "lengths.json", ROWS)
    plan = tmp_path / "plan"
    first = ask("pack", lengths, *LIMITS, "--reuse", "--out", plan)
    assert "reused" not in first
    return lengths, plan, first


def inode(plan):
    return (plan / "plan.json").stat().st_ino


def test_the_same_request_keeps_the_plan(planned):
    lengths, plan, first = planned
    before = inode(plan)
    again = ask("pack", lengths, *LIMITS, "--reuse", "--out", plan)
    assert again["reused"] and again["packs"] == first["packs"]
    assert again["steps"] == first["steps"]
    assert inode(plan) == before


def test_a_touched_input_keeps_the_plan(planned):
    lengths, plan, _ = planned
    os.utime(lengths, (1, 1))
    assert ask("pack", lengths, *LIMITS, "--reuse", "--out", plan)["reused"]


def test_the_same_content_under_another_path_keeps_the_plan(planned):
    lengths, plan, _ = planned
    folder = lengths.parent / "copied"
    folder.mkdir()
    shutil.copy(lengths, folder / lengths.name)
    for path in (folder / lengths.name, f"{lengths.stem}={folder}/{lengths.name}"):
        assert ask("pack", path, *LIMITS, "--reuse", "--out", plan)["reused"]
    error = refuse(3, "pack", f"other={lengths}", *LIMITS, "--reuse", "--out", plan)
    assert error["code"] == "stale_plan" and error["where"]["key"] == "input"


def test_a_plan_that_was_moved_is_kept(planned):
    lengths, plan, _ = planned
    moved = shutil.move(plan, plan.parent / "elsewhere")
    assert ask("pack", lengths, *LIMITS, "--reuse", "--out", moved)["reused"]


def test_one_changed_row_makes_it_stale(planned):
    lengths, plan, _ = planned
    before = inode(plan)
    write_lengths(lengths, [(1, 301, 1), *ROWS[1:]])
    error = refuse(3, "pack", lengths, *LIMITS, "--reuse", "--out", plan)
    assert error["code"] == "stale_plan" and str(lengths) in error["message"]
    assert inode(plan) == before


def test_changed_limits_make_it_stale(planned):
    lengths, plan, _ = planned
    changed = ["4000" if value == 4096 else value for value in LIMITS]
    error = refuse(3, "pack", lengths, *changed, "--reuse", "--out", plan)
    assert error["code"] == "stale_plan" and error["where"]["key"] == "token_cap"
    assert "4096" in error["message"] and "4000" in error["message"]


def test_another_seed_makes_it_stale(planned):
    lengths, plan, _ = planned
    error = refuse(3, "pack", lengths, *LIMITS, "--seed", 1, "--reuse", "--out", plan)
    assert error["code"] == "stale_plan" and error["where"]["key"] == "seed"


def test_one_more_input_makes_it_stale(planned):
    lengths, plan, _ = planned
    other = write_lengths(lengths.parent / "other.json", ROWS)
    error = refuse(3, "pack", lengths, other, *LIMITS, "--reuse", "--out", plan)
    assert error["code"] == "stale_plan" and '"other"' in error["message"]


def test_a_damaged_plan_is_not_kept(planned):
    lengths, plan, _ = planned
    array = plan / "pack_samples.npy"
    content = bytearray(array.read_bytes())
    content[-8] ^= 1
    array.write_bytes(content)
    error = refuse(3, "pack", lengths, *LIMITS, "--reuse", "--out", plan)
    assert error["code"] == "invalid_plan"


def test_reuse_needs_a_directory(planned):
    lengths, _, _ = planned
    assert refuse(2, "pack", lengths, *LIMITS, "--reuse")["code"] == "invalid_argument"


def test_a_plan_with_a_model_is_kept_too(tmp_path):
    lengths = write_lengths(tmp_path / "lengths.json", ROWS)
    request = ["plan", lengths, "--model", "internvit-300m+qwen2.5-0.5b", "--cluster", "a100-80g",
               "--gpus", 8, "--tp", 1, "--pp", 4, "--global-batch", 32, "--vision-cap", 9,
               "--token-cap", 4096, "--reuse", "--out", tmp_path / "plan"]
    first = ask(*request)
    again = ask(*request)
    assert again["reused"] and again["prediction"] == first["prediction"]
    error = refuse(3, *request, "--memory", "70GB")
    assert error["code"] == "stale_plan" and error["where"]["key"] == "memory"


def test_a_plan_of_another_zero3_rate_is_stale(small_corpus, tmp_path):
    command = ["plan", small_corpus, *PAPER_PLAN, "--reuse", "--out", tmp_path / "plan"]
    ask(*command, "--zero3", 144)
    assert ask(*command, "--zero3", 144)["reused"]
    assert "zero3" in str(refuse(3, *command))
