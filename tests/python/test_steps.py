# SPDX-License-Identifier: Apache-2.0
"""`steps` follows a plan from any place, on any ranks, and refuses what is not its plan's."""
import collections
import json
import random
import shutil

import jsonschema
import numpy as np
import pytest

from conftest import ROOT, ask, refuse, run, write_lengths

CAPS = ["--vision-cap", 9, "--token-cap", 4096]


def made_lengths(path, count, seed=3):
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        tiles = rng.randrange(0, 6)
        rows.append((tiles, 256 * tiles + rng.randrange(20, 900), tiles))
    return write_lengths(path, rows)


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    """400 samples in packs on 8 ranks, two micro-batches a step."""
    directory = tmp_path_factory.mktemp("steps")
    lengths = made_lengths(directory / "lengths.json", 400)
    ask("pack", lengths, *CAPS, "--dp", 8, "--micro-batches", 2, "--out", directory / "plan")
    return directory / "plan"


def packs(step):
    return [pack for row in step["micro_batches"] for pack in row]


def two_epochs(plan):
    count = json.loads((plan / "plan.json").read_text())["steps"]["count"]
    return ask("steps", plan, "--count", 2 * count)["steps"]


def test_epoch_zero_is_the_table_and_epoch_one_another_order(plan):
    table = np.load(plan / "steps.npy")
    steps = two_epochs(plan)
    assert [step["micro_batches"] for step in steps[:len(table)]] == table.tolist()
    assert [step["epoch"] for step in steps] == [0] * len(table) + [1] * len(table)
    first, second = steps[:len(table)], steps[len(table):]
    assert [packs(step) for step in first] != [packs(step) for step in second]
    for epoch in (first, second):
        runs = collections.Counter(pack for step in epoch for pack in packs(step) if pack >= 0)
        assert sorted(runs) == list(range(len(runs))) and set(runs.values()) == {1}


def test_c01_c03_resume_at_every_step_of_two_epochs(plan, tmp_path):
    whole = two_epochs(plan)
    cursor = tmp_path / "cursor.json"
    ask("steps", plan, "--count", 0, "--out-cursor", cursor)
    for k in range(len(whole)):
        answer = ask("steps", plan, "--cursor", cursor, "--count", len(whole) - k)
        assert answer["steps"] == whole[k:]
        ask("steps", plan, "--cursor", cursor, "--count", 1, "--out-cursor", cursor)
        schema = json.loads((ROOT / "schemas" / "cursor.schema.json").read_text())
        jsonschema.validate(json.loads(cursor.read_text()), schema)


def test_c04_any_place_can_be_asked_for_alone(plan):
    whole = two_epochs(plan)
    for step in reversed(whole):
        alone = ask("steps", plan, "--epoch", step["epoch"], "--step", step["step"])["steps"]
        assert alone == [step]


def test_samples_of_a_step_are_those_of_its_packs(plan):
    sizes = np.diff(np.load(plan / "pack_offsets.npy"))
    for step in ask("steps", plan, "--count", 5)["steps"]:
        assert step["samples"] == sum(sizes[pack] for pack in packs(step) if pack >= 0)


def test_d10_the_same_step_on_eight_four_and_one_ranks(plan):
    eight = ask("steps", plan, "--epoch", 1, "--count", 4)
    for dp, micro_batches in ((4, 4), (2, 8), (1, 16)):
        fewer = ask("steps", plan, "--epoch", 1, "--dp", dp, "--count", 4)
        assert fewer["steps_in_epoch"] == eight["steps_in_epoch"]
        for step, same in zip(fewer["steps"], eight["steps"]):
            assert len(step["micro_batches"]) == micro_batches
            assert packs(step) == packs(same) and step["samples"] == same["samples"]


def test_other_ranks_go_on_with_what_has_not_run(plan, tmp_path):
    cursor = tmp_path / "cursor.json"
    trained = [pack for step in ask("steps", plan, "--count", 2, "--out-cursor", cursor)["steps"]
               for pack in packs(step)]
    for dp in (3, 5, 16):
        answer = ask("steps", plan, "--cursor", cursor, "--dp", dp, "--micro-batches", 1,
                     "--out-cursor", cursor)
        trained += packs(answer["steps"][0])
    assert len(json.loads(cursor.read_text())["changes"]) == 3
    left = answer["steps_in_epoch"] - answer["next"]["step"]
    trained += [pack for step in ask("steps", plan, "--cursor", cursor, "--count", left)["steps"]
                for pack in packs(step)]
    runs = collections.Counter(pack for pack in trained if pack >= 0)
    assert set(runs.values()) == {1}
    assert len(runs) == len(np.load(plan / "pack_load.npy"))
    following = ask("steps", plan, "--cursor", cursor, "--count", left + 1)["steps"][-1]
    assert (following["epoch"], following["step"]) == (1, 0)


def test_the_end_of_an_epoch_is_the_start_of_the_next(plan):
    count = json.loads((plan / "plan.json").read_text())["steps"]["count"]
    answer = ask("steps", plan, "--step", count)
    assert (answer["cursor"]["epoch"], answer["cursor"]["step"]) == (1, 0)
    error = refuse(3, "steps", plan, "--step", count + 1)
    assert error["code"] == "out_of_range" and error["where"]["key"] == "step"


def test_a_cursor_of_another_plan_is_refused(plan, tmp_path):
    cursor = tmp_path / "cursor.json"
    ask("steps", plan, "--out-cursor", cursor)
    moved = shutil.copytree(plan, tmp_path / "moved")
    ask("steps", moved, "--cursor", cursor)
    lengths = plan.parent / "lengths.json"
    other = tmp_path / "other"
    ask("pack", lengths, "--vision-cap", 8, "--token-cap", 4096, "--dp", 8, "--micro-batches", 2,
        "--out", other)
    error = refuse(3, "steps", other, "--cursor", cursor)
    assert error["code"] == "stale_plan" and "options" in error["message"]
    assert error["value"] != error["limit"]


def test_bad_cursors_and_flags_are_refused(plan, tmp_path):
    good = tmp_path / "cursor.json"
    ask("steps", plan, "--out-cursor", good)
    bad = tmp_path / "bad.json"
    for change, code in (({"step": -1}, "out_of_range"), ({"step": 10**6}, "out_of_range"),
                         ({"version": 9}, "unsupported_version"), ({"dp": 3}, "out_of_range"),
                         ({"format": "omnibal.plan"}, "unknown_format")):
        bad.write_text(json.dumps({**json.loads(good.read_text()), **change}))
        error = refuse(3, "steps", plan, "--cursor", bad)
        assert error["code"] == code and error["where"]["file"] == str(bad)
    bad.write_text("{")
    assert refuse(3, "steps", plan, "--cursor", bad)["code"] == "malformed_json"
    assert refuse(2, "steps", plan, "--cursor", good, "--epoch", 1)["code"] == "invalid_argument"


def test_a_plan_without_steps_is_refused(plan, tmp_path):
    ask("pack", plan.parent / "lengths.json", *CAPS, "--out", tmp_path / "packs")
    error = refuse(3, "steps", tmp_path / "packs")
    assert error["code"] == "invalid_plan" and "--dp" in error["hint"]


@pytest.mark.parametrize("tail", ["zero-weight", "drop", "repeat"])
def test_d02_101_packs_on_8_ranks(tmp_path, tail):
    lengths = write_lengths(tmp_path / "lengths.json", [(1, 4000, 1)] * 101)
    answer = ask("pack", lengths, *CAPS, "--dp", 8, "--micro-batches", 2, "--tail", tail,
                 "--out", tmp_path / "plan")
    steps = answer["steps"]
    table = np.load(tmp_path / "plan" / "steps.npy")
    assert answer["packs"] == 101 and table.shape == (steps["count"], 2, 8)
    runs = collections.Counter(table[table >= 0].tolist())
    assert sorted(steps["dropped_pack_ids"]) == sorted(set(range(101)) - set(runs))
    assert sorted(steps["repeated_pack_ids"]) == sorted(p for p, n in runs.items() if n > 1)
    rows = table.reshape(-1, 8)
    beside = rows[(rows < 0).any(axis=1)]
    assert sorted(steps["incomplete_pack_ids"]) == sorted(beside[beside >= 0].tolist())
    assert (len(steps["dropped_pack_ids"]), len(steps["repeated_pack_ids"]),
            len(steps["incomplete_pack_ids"])) == {
                "zero-weight": (0, 0, 5), "drop": (5, 0, 0), "repeat": (0, 11, 0)}[tail]
    assert ask("verify", tmp_path / "plan")["ok"]
    text = run("steps", tmp_path / "plan", "--epoch", 3).stdout
    assert "next: epoch 3, step 1" in text


def test_d01_heavy_samples_first(tmp_path):
    """An eighth of the samples heavy, in front: naive orders are shown beside ours."""
    lengths = write_lengths(tmp_path / "lengths.json",
                            [(9, 2600, 9)] * 500 + [(1, 300, 1)] * 3500)
    rows = ask("compare", lengths, *CAPS, "--dp", 8)["rows"]
    of = {row["method"]: row["dist_ratio"] for row in rows}
    steps = ask("pack", lengths, *CAPS, "--dp", 8)["steps"]
    assert of["random"]["vision"] > 0.2
    for load, ratio in of["omnibal"].items():
        assert ratio < 0.01 and steps["dist_ratio"][load] < 0.01
        assert steps["dist_ratio_random_order"][load] >= steps["dist_ratio"][load]


def test_d08_the_worst_pack_is_named_and_runs_first(tmp_path):
    rows = [(1, 4000, 1)] * 999
    rows.insert(500, (9, 4096, 9))
    lengths = write_lengths(tmp_path / "lengths.json", rows)
    for flags in ([], ["--worst-first"]):
        out = tmp_path / f"plan{len(flags)}"
        worst = ask("pack", lengths, *CAPS, "--dp", 8, *flags, "--out", out)["worst_pack"]
        assert (worst["vision_units"], worst["tokens"]) == (9, 4096)
        assert worst["activation_bytes"] > 10**9
        table = np.load(out / "steps.npy")
        assert table[worst["step"], worst["micro_batch"], worst["rank"]] == worst["pack"]
        if flags:
            assert (worst["step"], worst["micro_batch"]) == (0, 0)
        assert ask("verify", out)["ok"]


def test_packs_without_images_meet_no_others(tmp_path):
    for seed in range(5):
        lengths = made_lengths(tmp_path / f"{seed}.json", 3000 + 7 * seed, seed=seed)
        steps = ask("pack", lengths, *CAPS, "--dp", 8, "--micro-batches", 1)["steps"]
        assert steps["vision_idle_groups"] == 0
