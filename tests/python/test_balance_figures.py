# SPDX-License-Identifier: Apache-2.0
"""Imbalance and mix of formed steps on internvl-1.2m: what the documentation promises."""
import pytest

from conftest import ask

LOADS = ("vision", "tokens", "attention", "time")


def steps_of(corpus, vision_cap, dp, *flags):
    return ask("pack", corpus, "--vision-cap", vision_cap, "--token-cap", 4096, "--dp", dp,
               *flags)["steps"]


def within(steps, limits):
    return all(steps["dist_ratio"][load] <= limit for load, limit in zip(LOADS, limits, strict=True))


@pytest.mark.parametrize("vision_cap", [9, 15])
def test_default_windows(internvl_corpus, vision_cap):
    steps = steps_of(internvl_corpus, vision_cap, 8)
    assert within(steps, (0.001, 0.006, 0.010, 0.003)), steps["dist_ratio"]
    # Grouping by load is not grouping by source: packs dealt at random have 1.
    for quantity in ("samples", "vision_units", "tokens"):
        assert steps["source_mix"]["steps"][quantity]["against_random"] < 2.5
    assert steps["dist_ratio_random_order"]["attention"] > 0.05


@pytest.mark.parametrize("vision_cap", [9, 15])
def test_whole_epoch(internvl_corpus, vision_cap):
    steps = steps_of(internvl_corpus, vision_cap, 8, "--window", 0)
    assert within(steps, (0.0005, 0.004, 0.005, 0.002)), steps["dist_ratio"]


@pytest.mark.parametrize("vision_cap", [9, 15])
def test_512_ranks(internvl_corpus, vision_cap):
    steps = steps_of(internvl_corpus, vision_cap, 512, "--window", 0)
    assert within(steps, (0.002, 0.010, 0.03, 0.006)), steps["dist_ratio"]
    assert steps["dist_ratio_random_order"]["attention"] > 0.3
