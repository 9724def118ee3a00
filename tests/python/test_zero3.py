# SPDX-License-Identifier: Apache-2.0
"""A step of ZeRO-3 from the command line, against sums over the layers of the profile."""
import json

import pytest

from conftest import W_PROFILE, ask, refuse


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    path = tmp_path_factory.mktemp("zero3") / "profile.json"
    ask("profile", "--model", "internvit-300m+qwen2.5-0.5b", "--cluster", "a100-80g", "--out", path)
    return path


def seconds_of(profile, micro_batches, recomputed=()):
    document = json.loads(profile.read_text())
    load = {"per_vision_unit": document["load"]["vision_units"], "per_token": document["load"]["tokens"],
            "per_token_pair": document["load"]["token_pairs"]}

    def at(cost):
        if not isinstance(cost, dict):
            return cost
        return cost.get("constant", 0) + sum(cost.get(term, 0) * times for term, times in load.items())
    once = sum(at(layer[key]) for layer in document["layers"]
               for key in ("forward_s", "input_grad_s", "weight_grad_s"))
    again = sum(at(document["layers"][i]["recompute_s"]) for i in recomputed)
    return micro_batches * once, micro_batches * again


def test_without_links_a_step_is_the_sum_of_its_layers(profile):
    recomputed = list(range(5)) + [30]
    step = ask("simulate", "--profile", profile, "--zero3", "--dp", 8, "--micro-batches", 3,
               "--recompute-layers", "0-4,30")
    useful, again = seconds_of(profile, 3, recomputed)
    assert step["makespan_s"] == pytest.approx(useful + again, rel=1e-12)
    assert step["breakdown"]["useful_s"] == pytest.approx(8 * useful, rel=1e-12)
    assert step["breakdown"]["recompute_s"] == pytest.approx(8 * again, rel=1e-12)
    assert step["schedule"] == {"kind": "zero3", "chunks": 1} and len(step["ranks"]) == 8


def test_gathering_ahead_hides_what_a_step_waits_for(profile):
    def step(prefetch, *flags):
        return ask("simulate", "--profile", profile, "--zero3", "--dp", 64, "--micro-batches", 2,
                   "--cluster", "a100-80g", "--prefetch", prefetch, *flags)
    none, one = step(0), step(1)
    assert none["breakdown"]["communication_s"] > 2 * one["breakdown"]["communication_s"] > 0
    assert none["makespan_s"] > one["makespan_s"] > seconds_of(profile, 2)[0]
    assert none["ranks"][0]["peak_bytes"] < one["ranks"][0]["peak_bytes"]
    whole = one["makespan_s"] * 64
    assert abs(sum(one["breakdown"].values()) - whole) <= 1e-9 * whole
    assert step(1, "--update", "distributed")["optimizer_s"] > one["optimizer_s"] == 0


@pytest.mark.parametrize("flags", [
    ("--cuts", "3"), ("--schedule", "1f1b"), ("--chunks", 2), ("--pp", 1), ("--vision", "nested"),
    ("--recompute-choice", "0:mlp"), ("--trace", "trace.json"), ("--step", 0)])
def test_flags_of_a_pipeline_are_refused(flags):
    error = refuse(2, "simulate", "--profile", W_PROFILE, "--zero3", "--micro-batches", 2, *flags)
    assert error["where"]["key"] == flags[0] and "no pipeline" in error["message"]


def test_what_zero3_needs_and_alone_takes(small_plan):
    assert refuse(2, "simulate", "--zero3")["where"]["key"] == "--profile"
    assert refuse(2, "simulate", small_plan, "--zero3")["where"]["key"] == "--zero3"
    assert refuse(2, "simulate", "--profile", W_PROFILE, "--zero3", "--micro-batches", 2, "--update",
                  "distributed")["where"]["key"] == "--cluster"
    assert refuse(2, "simulate", "--profile", W_PROFILE, "--micro-batches", 2, "--prefetch",
                  2)["where"]["key"] == "--prefetch"
    error = refuse(2, "simulate", "--profile", W_PROFILE, "--zero3", "--dp", 4096, "--micro-batches", 100000)
    assert error["where"]["key"] == "--micro-batches" and error["limit"] < 1000
