# SPDX-License-Identifier: Apache-2.0
"""Faults of the released OmniBal code: a test each, named after the fault, that fails where it is present.

Elsewhere: the random generator that is seeded for the whole process (tests/pack/no_global_state_test.cpp).
"""
import collections
import json

import sys

import numpy as np
import pytest

from conftest import ROOT, ask, refuse, write_lengths

sys.path.insert(0, str(ROOT / "tests" / "reference"))
import balance  # noqa: E402

CAPS = ["--vision-cap", 9, "--token-cap", 4096]


def arrays(plan, *names):
    return [np.load(plan / f"{name}.npy") for name in names]


def segments(plan):
    """Of each pack the samples in it."""
    offsets, samples = arrays(plan, "pack_offsets", "pack_samples")
    return np.split(samples, offsets[1:-1])


def mixed_lengths(count):
    return [(1 + i % 5, 256 * (1 + i % 5) + 20 + 37 * i % 700, 1 + i % 5) for i in range(count)]


@pytest.mark.parametrize("seed", range(25))
def test_the_open_group_is_not_lost_with_an_over_long_sample_behind_it(tmp_path, seed):
    """Whatever the shuffle, so also where the over-long sample comes last. 200 seeds: case L01."""
    lengths = write_lengths(tmp_path / "lengths.json", [(1, 600, 1)] * 8 + [(1, 5000, 1)])
    answer = ask("pack", lengths, *CAPS, "--seed", seed, "--out", tmp_path / "plan")
    assert (answer["placed"], answer["rejected"]) == (8, 1)
    assert sorted(np.concatenate(segments(tmp_path / "plan"))) == list(range(8))


@pytest.mark.parametrize("rows, said", [
    ([], "the list holds no sample"), ([(1, 5000, 1)] * 3, "0 of 3 samples are usable"),
    ([(10, 4000, 10)], "0 of 1 samples are usable")])
def test_an_empty_or_all_over_long_list_divides_nothing_by_zero(tmp_path, rows, said):
    error = refuse(3, "pack", write_lengths(tmp_path / "lengths.json", rows), *CAPS, "--dp", 8)
    assert said in error["message"]


def test_a_length_of_zero_is_not_accepted(tmp_path):
    lengths = write_lengths(tmp_path / "lengths.json", [(1, 500, 1), (0, 0, 0), (1, 500, 1)])
    answer = ask("pack", lengths, *CAPS, "--out", tmp_path / "plan")
    assert (answer["placed"], answer["rejected"]) == (2, 1)
    [line] = (tmp_path / "plan" / "rejected.jsonl").read_text().splitlines()
    assert json.loads(line)["reason"] == "zero_tokens" and json.loads(line)["row"] == 1


@pytest.mark.parametrize("row", [(1, -500, 1), (-1, 500, 1), (1, 500, -1)])
def test_a_negative_length_is_not_accepted(tmp_path, row):
    error = refuse(3, "pack", write_lengths(tmp_path / "lengths.json", [(1, 500, 1), row]), *CAPS)
    assert error["where"]["row"] == 1


@pytest.mark.parametrize("rows, micro_batch", [
    ([(1, 300, 1)] * 3, 4), ([(1, 300, 1)], 1000), ([(20, 9000, 20)] * 5, 8)])
def test_the_limit_search_ends_with_fewer_samples_than_a_pack_is_to_hold(tmp_path, rows, micro_batch):
    lengths = write_lengths(tmp_path / "lengths.json", rows)
    error = refuse(4, "pack", lengths, "--limits", "paper", "--micro-batch", micro_batch)
    assert f"{len(rows)} samples cannot fill a pack of {micro_batch}" in error["message"]


@pytest.mark.parametrize("num_sources", [2, 3, 4, 7])
def test_no_dataset_is_packed_twice_or_never_with_three_and_more(tmp_path, num_sources):
    """Offsets of the datasets: every row of every source once, with its own lengths."""
    sizes = [40 + 13 * s for s in range(num_sources)]
    inputs = []
    for s, size in enumerate(sizes):
        write_lengths(tmp_path / f"{s}.json", [(1 + s % 4, 300 + 101 * s, 1)] * size)
        inputs.append(f"d{s}={tmp_path / f'{s}.json'}")
    ask("pack", *inputs, *CAPS, "--out", tmp_path / "plan")
    source, row, tokens, packed = arrays(tmp_path / "plan", "sample_source", "sample_row",
                                         "sample_tokens", "pack_samples")
    trained = collections.Counter(zip(source[packed].tolist(), row[packed].tolist()))
    assert trained == collections.Counter((s, r) for s, size in enumerate(sizes) for r in range(size))
    assert (tokens == 300 + 101 * source).all()


@pytest.mark.parametrize("parallel", [["--cp", 2], ["--tp", 2], ["--cp", 4, "--tp", 2]])
def test_sequence_parallelism_duplicates_no_pack(tmp_path, parallel):
    """Two wrappers of 40 samples (L27): the ranks of one group share a pack, so each is dealt once."""
    inputs = []
    for name in ("first", "second"):
        write_lengths(tmp_path / f"{name}.json", [(3, 1500, 3)] * 40)
        wrapper = tmp_path / f"{name}-wrapper.json"
        wrapper.write_text(json.dumps({name: {"token_lengths": f"{name}.json"}}))
        inputs.append(wrapper)
    answer = ask("pack", *inputs, *CAPS, *parallel, "--dp", 4, "--micro-batches", 2,
                 "--out", tmp_path / "plan")
    assert answer["placed"] == 80 and answer["duplicated"] == 0
    dealt = arrays(tmp_path / "plan", "steps")[0].ravel()
    assert sorted(dealt[dealt >= 0]) == list(range(answer["packs"]))


@pytest.mark.parametrize("packs, ranks", [(3, 4), (7, 2), (101, 8)])
def test_ranks_get_equal_counts_where_they_do_not_divide_the_packs(tmp_path, packs, ranks):
    """Three packs on four ranks were 2, 2, 2, 0 packs: a hang."""
    lengths = write_lengths(tmp_path / "lengths.json", [(9, 2600, 9)] * packs)
    ask("pack", lengths, *CAPS, "--dp", ranks, "--micro-batches", 1, "--out", tmp_path / "plan")
    [steps] = arrays(tmp_path / "plan", "steps")
    assert steps.shape == (-(-packs // ranks), 1, ranks)  # as many micro-batches on each rank
    assert sorted(steps[steps >= 0]) == list(range(packs))
    assert (steps == -1).sum() == -packs % ranks


def test_a_failing_sample_is_not_replaced_by_another(tmp_path):
    """What cannot be packed is listed, and nothing runs twice in its place."""
    rows = mixed_lengths(200)
    failing = {20: (1, 0, 1), 77: (1, 9000, 1), 150: (12, 3100, 12)}
    for index, row in failing.items():
        rows[index] = row
    answer = ask("pack", write_lengths(tmp_path / "lengths.json", rows), *CAPS, "--dp", 4,
                 "--micro-batches", 2, "--out", tmp_path / "plan")
    assert answer["duplicated"] == 0
    packs, [steps] = segments(tmp_path / "plan"), arrays(tmp_path / "plan", "steps")
    trained = np.concatenate([packs[p] for p in steps.ravel() if p >= 0])
    assert sorted(trained) == sorted(set(range(200)) - set(failing))
    listed = [json.loads(line)["row"]
              for line in (tmp_path / "plan" / "rejected.jsonl").read_text().splitlines()]
    assert listed == sorted(failing)


@pytest.fixture(scope="module")
def stepped(tmp_path_factory):
    """A plan of 1,000 samples on four ranks, and how many steps an epoch of it has."""
    home = tmp_path_factory.mktemp("stepped")
    answer = ask("pack", write_lengths(home / "lengths.json", mixed_lengths(1000)), *CAPS, "--dp", 4,
                 "--micro-batches", 8, "--out", home / "plan")
    return home / "plan", answer["packs"], answer["steps"]["count"]


def epoch_grids(stepped, epoch, first=0):
    """[steps, micro-batches, ranks] of an epoch, from a step on."""
    plan, _, num_steps = stepped
    answer = ask("steps", plan, "--epoch", epoch, "--step", first, "--count", num_steps - first)
    return np.array([step["micro_batches"] for step in answer["steps"]])


def test_grouping_by_load_is_not_lost_after_the_first_epoch(stepped):
    plan = stepped[0]
    offsets, samples, vision, tokens = arrays(plan, "pack_offsets", "pack_samples", "sample_vision",
                                              "sample_tokens")
    loads = balance.pack_loads(offsets, vision[samples], tokens[samples])
    rng = np.random.default_rng(0)
    whole = len(loads.tokens) // 4 * 4
    random = balance.dist_ratio(rng.permutation(len(loads.tokens))[:whole].reshape(-1, 4), loads.tokens)
    for epoch in (0, 1, 2, 7):
        grid = epoch_grids(stepped, epoch).reshape(-1, 4)
        assert balance.dist_ratio(grid, loads.tokens) < 0.2 * random
        assert balance.dist_ratio(grid, loads.vision) < 0.001


@pytest.mark.parametrize("epoch", [0, 1])
def test_resuming_mid_epoch_trains_no_pack_twice_and_none_never(stepped, epoch):
    """Steps 0 .. k, then what a run that resumes at step k gets, at each k."""
    _, packs, num_steps = stepped
    whole = epoch_grids(stepped, epoch)
    assert sorted(whole[whole >= 0]) == list(range(packs))
    for step in range(num_steps):
        assert (epoch_grids(stepped, epoch, step) == whole[step:]).all()


@pytest.mark.parametrize("epoch", [0, 1])
@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_resuming_mid_epoch_on_other_ranks_trains_every_pack_once(stepped, tmp_path, epoch, ranks):
    plan, packs, num_steps = stepped
    begun = ask("steps", plan, "--epoch", epoch, "--count", num_steps // 2, "--out-cursor",
                tmp_path / "cursor.json")
    rest = ask("steps", plan, "--cursor", tmp_path / "cursor.json", "--dp", ranks, "--count", 0)
    left = rest["steps_in_epoch"] - rest["next"]["step"]
    rest = ask("steps", plan, "--cursor", tmp_path / "cursor.json", "--dp", ranks, "--count", left)
    assert all(step["epoch"] == epoch for step in rest["steps"])
    trained = [pack for part in (begun, rest) for step in part["steps"]
               for row in step["micro_batches"] for pack in row if pack >= 0]
    assert sorted(trained) == list(range(packs))


def test_the_first_reshuffle_does_not_repeat_the_first_seed(stepped):
    orders = {tuple(epoch_grids(stepped, epoch).ravel()) for epoch in range(4)}
    assert len(orders) == 4
    [first] = arrays(stepped[0], "steps")
    assert (epoch_grids(stepped, 0) == first).all()


def test_token_length_is_not_read_before_truncation(tmp_path):
    """A pack is charged for what is left of a cut sample: with the length before the cut it would be
    over the cap, or stay empty beside it."""
    rows = mixed_lengths(60)
    rows[7] = (1, 9000, 1)
    answer = ask("pack", write_lengths(tmp_path / "lengths.json", rows), *CAPS, "--over-long",
                 "truncate", "--out", tmp_path / "plan")
    assert (answer["placed"], answer["truncated"], answer["over_cap"]) == (60, 1, 0)
    tokens, load = arrays(tmp_path / "plan", "sample_tokens", "pack_load")
    assert tokens[7] == 4096
    packs = segments(tmp_path / "plan")
    assert [tokens[pack].sum() for pack in packs] == load[:, 1].tolist()
    [alone] = [pack.tolist() for pack in packs if 7 in pack]
    assert alone == [7]
    assert answer["fill"]["tokens"] == pytest.approx(load[:, 1].mean() / 4096, rel=1e-12)
