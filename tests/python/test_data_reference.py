# SPDX-License-Identifier: Apache-2.0
"""Packing against ISF written down in plain Python, and a plan's figures against NumPy."""
import json
import statistics
import sys

import numpy as np
import pytest

from conftest import ROOT, ask

sys.path.insert(0, str(ROOT / "tests" / "reference"))
import balance  # noqa: E402
from isf import isf  # noqa: E402


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    directory = tmp_path_factory.mktemp("reference") / "corpus"
    ask("synth", "--preset", "internvl-1.2m", "--samples", 3000, "--out", directory)
    return directory


@pytest.mark.parametrize("vision_cap, rounds", [(9, 1), (9, 3), (9, 50), (15, 2), (15, 50)])
def test_isf_makes_as_many_packs_as_plain_python(corpus, vision_cap, rounds):
    """Means over seeds, within four standard errors; a round more or less is further away."""
    vision, tokens = (np.load(corpus / f"{name}.npy").tolist() for name in ("vision", "tokens"))
    ours = [ask("pack", corpus, "--method", "isf", "--vision-cap", vision_cap, "--token-cap", 4096,
                "--rounds", rounds, "--seed", seed)["packs"] for seed in range(8)]
    theirs = [len(isf(vision, tokens, vision_cap, 4096, rounds, seed)) for seed in range(8)]
    error = ((statistics.variance(ours) + statistics.variance(theirs)) / 8) ** 0.5
    assert abs(statistics.mean(ours) - statistics.mean(theirs)) <= 4 * error


def test_plain_python_and_the_program_keep_the_same_promises(corpus, tmp_path):
    vision, tokens = (np.load(corpus / f"{name}.npy") for name in ("vision", "tokens"))
    ask("pack", corpus, "--method", "isf", "--vision-cap", 9, "--token-cap", 4096, "--out",
        tmp_path / "plan")
    offsets = np.load(tmp_path / "plan" / "pack_offsets.npy")
    ours = np.split(np.load(tmp_path / "plan" / "pack_samples.npy"), offsets[1:-1])
    for packs in (ours, isf(vision.tolist(), tokens.tolist(), 9, 4096)):
        assert sorted(np.concatenate(packs).tolist()) == list(range(len(tokens)))
        assert max(vision[pack].sum() for pack in packs) <= 9
        assert max(tokens[pack].sum() for pack in packs) <= 4096


@pytest.fixture(scope="module")
def reference_profile(tmp_path_factory):
    path = tmp_path_factory.mktemp("profile") / "profile.json"
    ask("profile", "--model", "internvl-chat-1.5-26b", "--cluster", "a100-80g", "--out", path)
    return json.loads(path.read_text())


@pytest.mark.parametrize("flags", [
    ["--vision-cap", 9, "--token-cap", 4096, "--dp", 8, "--micro-batches", 16],
    ["--vision-cap", 15, "--token-cap", 4096, "--dp", 6, "--micro-batches", 5, "--tail", "repeat"],
    ["--vision-cap", 12, "--token-cap", 3000, "--dp", 4, "--micro-batches", 7, "--tail", "drop",
     "--window", 3],
    ["--vision-cap", 9, "--token-cap", 4000, "--dp", 8, "--window", 0, "--cp", 4, "--tp", 2]])
def test_figures_of_a_plan_are_those_of_its_arrays(corpus, reference_profile, tmp_path, flags):
    answer = ask("pack", corpus, "--method", "isf", *flags, "--out", tmp_path / "plan")
    plan = {name: np.load(tmp_path / "plan" / f"{name}.npy") for name in (
        "pack_offsets", "pack_samples", "sample_vision", "sample_tokens", "steps", "pack_load")}
    packed = plan["pack_samples"]
    loads = balance.pack_loads(plan["pack_offsets"], plan["sample_vision"][packed],
                               plan["sample_tokens"][packed])
    assert (np.stack(loads, axis=1) == plan["pack_load"]).all()
    limits, multiple = answer["limits"], answer["limits"].get("token_multiple", 1)
    usable = limits["token_cap"] // multiple * multiple
    padded = -(-loads.tokens // multiple) * multiple
    exact = lambda value: pytest.approx(value, rel=1e-12, abs=1e-15)  # noqa: E731
    assert answer["fill"] == exact({"vision": (loads.vision / limits["vision_cap"]).mean(),
                                    "tokens": (loads.tokens / usable).mean()})
    assert answer["pad_ratio"] == exact(1 - loads.tokens.sum() / padded.sum())
    assert answer["over_cap"] == 0 == (padded > limits["token_cap"]).sum()
    steps = plan["steps"]
    grid = steps.reshape(-1, steps.shape[2])
    assert answer["steps"]["dist_ratio"] == exact(balance.dist_ratios(grid, loads, reference_profile))
    sizes = np.append(np.diff(plan["pack_offsets"]), 0)  # pack -1 holds no sample
    per_step = sizes[steps].sum(axis=(1, 2))
    assert answer["steps"]["samples_per_step"] == exact({"mean": per_step.mean(), "std": per_step.std()})
