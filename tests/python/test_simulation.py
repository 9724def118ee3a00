# SPDX-License-Identifier: Apache-2.0
"""Makespans against an independent simulation: a longest path in plain Python (tests/reference)."""
import json
import pathlib
import random
import sys

import pytest

from conftest import ROOT, W_PROFILE, ask

sys.path.insert(0, str(ROOT / "tests" / "reference"))
import simulator  # noqa: E402


def stage_times(layers, cuts, recompute):
    """Forward and backward (recomputation included) seconds of each stage."""
    edges = [0, *cuts, len(layers)]
    forward, backward = [], []
    for begin, end in zip(edges, edges[1:]):
        part = list(enumerate(layers))[begin:end]
        forward.append(sum(layer["forward_s"] for _, layer in part))
        backward.append(sum(layer["input_grad_s"] + layer["weight_grad_s"]
                            + (layer["recompute_s"] if i in recompute else 0)
                            for i, layer in part))
    return forward, backward


def random_case(seed):
    rng = random.Random(seed)
    layers = [{"name": f"block.{i}", "trainable": True, "parameters": 1,
               **{key: rng.uniform(0.001, 0.01) for key in
                  ("forward_s", "input_grad_s", "weight_grad_s", "recompute_s")},
               "activation_bytes": 1000, "recomputed_bytes": 10, "static_bytes": 5,
               "boundary_bytes": 7} for i in range(rng.randint(4, 30))]
    layers[0]["input_grad_s"] = 0  # nothing trainable before it
    pp = rng.randint(1, min(6, len(layers)))
    cuts = sorted(rng.sample(range(1, len(layers)), pp - 1))
    recompute = sorted(rng.sample(range(len(layers)), rng.randint(0, len(layers))))
    return layers, cuts, recompute, rng.randint(1, 12), rng.choice(["1f1b", "gpipe"])


@pytest.mark.parametrize("seed", range(60))
def test_random_pipelines(seed, tmp_path):
    layers, cuts, recompute, micro_batches, kind = random_case(seed)
    profile = tmp_path / "profile.json"
    profile.write_text(json.dumps({
        "format": "omnibal.profile", "version": 1, "source": "manual",
        "load": {"vision_units": 1, "tokens": 1, "token_pairs": 1}, "layers": layers}))
    answer = ask("simulate", "--profile", profile, "--cuts", ",".join(map(str, cuts)),
                 "--recompute-layers", ",".join(map(str, recompute)),
                 "--micro-batches", micro_batches, "--schedule", kind)
    forward, backward = stage_times(layers, cuts, set(recompute))
    makespan, busy = simulator.simulate([forward] * micro_batches, [backward] * micro_batches,
                                        kind=kind)[:2]
    assert answer["makespan_s"] == pytest.approx(makespan, rel=1e-9)
    for rank, seconds in zip(answer["ranks"], busy, strict=True):
        assert rank["busy_s"] == pytest.approx(seconds, rel=1e-9)
    assert sum(answer["breakdown"].values()) == pytest.approx(makespan * len(forward), rel=1e-9)


@pytest.mark.parametrize("method", ["joint", "bmp", "anchor", "min-max", "least-variance",
                                    "even-layers", "even-parameters", "vision-first"])
@pytest.mark.parametrize("recompute", ["none", "full"])
def test_every_partition_reports_a_true_makespan(method, recompute):
    answer = ask("partition", W_PROFILE, "--pp", 8, "--micro-batches", 16, "--method", method,
                 "--recompute", recompute)
    forward = [stage["forward_s"] for stage in answer["stages"]]
    backward = [stage["backward_s"] + stage["recompute_s"] for stage in answer["stages"]]
    makespan = simulator.simulate([forward] * 16, [backward] * 16, kind="1f1b")[0]
    assert answer["makespan_s"] == pytest.approx(makespan, rel=1e-9)


def test_trace_opens_in_perfetto(small_plan, tmp_path):
    trace = tmp_path / "trace.json"
    answer = ask("simulate", small_plan, "--trace", trace)
    events = json.loads(pathlib.Path(trace).read_text())["traceEvents"]
    actions = [event for event in events if event["ph"] == "X"]
    assert len(actions) >= 8 * 4 * 32 * 2  # dp x pp x micro-batches x (forward, backward)
    assert max(event["ts"] + event["dur"] for event in actions) == pytest.approx(
        answer["makespan_s"] * 1e6, rel=1e-6)
