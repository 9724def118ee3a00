# SPDX-License-Identifier: Apache-2.0
"""Cases of pipelines that users run into: uneven stages, packs without images, frozen parts, budgets."""
import json

import numpy
import pytest

from conftest import W_PROFILE, ask, refuse, write_lengths

PAIR = ["--model", "internvit-300m+qwen2.5-0.5b", "--cluster", "a100-80g"]


def written_profile(path, layers):
    path.write_text(json.dumps({
        "format": "omnibal.profile", "version": 1, "source": "manual",
        "load": {"vision_units": 1, "tokens": 1, "token_pairs": 1},
        "layers": [{"name": f"block.{i}", "trainable": True, "parameters": 1, "boundary_bytes": 1,
                    **layer} for i, layer in enumerate(layers)]}))
    return path


def test_P04_memory_is_that_of_the_heaviest_stage_not_the_mean(tmp_path):
    """Layout [1, 2, 2, 3]: the stage of three layers needs three times the weights of the first."""
    profile = written_profile(tmp_path / "p.json", [
        {"forward_s": seconds, "static_bytes": 1000, "activation_bytes": 1, "recomputed_bytes": 1}
        for seconds in (6, 3, 3, 3, 3, 2, 2, 2)])
    command = ["partition", profile, "--pp", 4, "--micro-batches", 4, "--method", "min-max",
               "--recompute", "none"]
    answer = ask(*command)
    assert [stage["num_layers"] for stage in answer["stages"]] == [1, 2, 2, 3]
    assert [stage["peak_bytes"] for stage in answer["stages"]] == [1004, 2006, 2004, 3003]
    error = refuse(4, *command, "--memory", 2500)  # above the mean of 2004
    assert error["where"]["key"] == "stages[3].peak_bytes" and error["value"] == 3003
    ask(*command, "--memory", 3003)


def test_P06_a_vision_stage_may_receive_packs_without_images(tmp_path):
    rows = [(0, 900 + i, 0) for i in range(40)] + [(4, 1500 + i, 4) for i in range(40)]
    lengths = write_lengths(tmp_path / "lengths.json", rows)
    plan = tmp_path / "plan"
    ask("plan", lengths, *PAIR, "--gpus", 4, "--tp", 1, "--pp", 2, "--dp", 2, "--global-batch", 16,
        "--micro-batch", 1, "--vision-cap", 4, "--token-cap", 2048, "--out", plan)
    loads = numpy.load(plan / "pack_load.npy")
    without = numpy.flatnonzero(loads[:, 0] == 0)
    assert len(without) > 0 and (loads[:, 1] > 0).all()
    steps = numpy.load(plan / "steps.npy")
    document = json.loads((plan / "plan.json").read_text())
    parallel = document["parallel"]
    assert steps.shape == (document["steps"]["count"], parallel["micro_batches"], parallel["dp"])
    assert set(without) <= set(steps.flatten())
    # All ranks run the vision tower in the same micro-batches.
    for group in steps.reshape(-1, parallel["dp"]):
        assert len({bool(loads[pack, 0]) for pack in group if pack >= 0}) <= 1
    assert ask("verify", plan)["ok"]


def test_P06_a_micro_batch_without_images_costs_the_vision_stage_nothing(tmp_path):
    profile = tmp_path / "profile.json"
    ask("profile", *PAIR, "--out", profile)
    kinds = [layer["kind"] for layer in json.loads(profile.read_text())["layers"]]
    first_llm = kinds.index("projector")

    def first_rank(*units):
        loads = tmp_path / "loads.json"
        loads.write_text(json.dumps([{"vision_units": u, "tokens": 2048, "token_pairs": 2048**2}
                                     for u in units]))
        return ask("simulate", "--profile", profile, "--cuts", first_llm, "--loads", loads)["ranks"][0]
    assert first_rank(9, 0)["busy_s"] == pytest.approx(first_rank(9)["busy_s"])
    assert first_rank(0)["busy_s"] == 0


def test_P07_frozen_layers_have_no_optimizer_memory(tmp_path):
    def layers(name, *flags):
        ask("profile", *PAIR, *flags, "--out", tmp_path / name)
        return json.loads((tmp_path / name).read_text())["layers"]
    trained = layers("all.json")
    parts = {"vision": {"vision_block"}, "llm": {"token_embedding", "llm_block", "head"}}
    for part, kinds in parts.items():
        for before, after in zip(trained, layers(f"{part}.json", "--freeze", part)):
            if before["kind"] not in kinds:
                assert after["static_bytes"] == before["static_bytes"]
                continue
            if before["kind"] != "head":  # whose weights are the embedding's
                assert after["static_bytes"] == 2 * after["parameters"]
            assert before["static_bytes"] >= 5 * after["static_bytes"]


def test_P08_recomputation_grows_as_memory_shrinks(tmp_path):
    profile = written_profile(tmp_path / "p.json", [
        {"forward_s": 1, "static_bytes": 100, "activation_bytes": 1000, "recomputed_bytes": 100}
        for _ in range(32)])
    command = ["partition", profile, "--pp", 4, "--micro-batches", 16, "--method", "even-layers"]
    full = max(stage["peak_bytes"] for stage in ask(*command, "--recompute", "none")["stages"])
    before = [0] * 4
    for percent in range(100, 29, -10):
        answer = ask(*command, "--recompute", "bar", "--memory", full * percent // 100)
        counts = [sum(stage["first_layer"] <= layer < stage["first_layer"] + stage["num_layers"]
                      for layer in answer["recompute"]) for stage in answer["stages"]]
        assert counts == sorted(counts, reverse=True)  # early stages recompute more
        assert all(now >= then for now, then in zip(counts, before))
        before = counts
    assert before[0] > 4
    error = refuse(4, *command, "--recompute", "bar", "--memory", full // 20)
    assert error["value"] > error["limit"] and "misses" in error["message"]


def test_T21_packs_of_equal_tokens_with_1_and_9_tiles_need_different_memory(tmp_path):
    profile = tmp_path / "profile.json"
    ask("profile", *PAIR, "--out", profile)

    def peaks(units):
        loads = tmp_path / "loads.json"
        loads.write_text(json.dumps([{"vision_units": units, "tokens": 4096, "token_pairs": 4096**2}]))
        return [rank["peak_bytes"] for rank in
                ask("simulate", "--profile", profile, "--cuts", 12, "--loads", loads)["ranks"]]
    one, nine = peaks(1), peaks(9)
    assert all(more > less for more, less in zip(nine, one))
    lengths = write_lengths(tmp_path / "lengths.json", [(1, 4000, 1), (9, 4000, 9)])
    plan = tmp_path / "plan"
    answer = ask("plan", lengths, *PAIR, "--gpus", 1, "--tp", 1, "--pp", 1, "--dp", 1,
                 "--global-batch", 2, "--micro-batch", 1, "--vision-cap", 9, "--token-cap", 4096,
                 "--out", plan)
    assert answer["worst_pack"]["vision_units"] == 9
    assert numpy.load(plan / "pack_load.npy")[:, 1].tolist() == [4000, 4000]
