# SPDX-License-Identifier: Apache-2.0
"""Workload W (docs/methods/pipeline.md): published figures of simple partitions."""
import json

import pytest

from conftest import W_PROFILE, ask

MS = 1e-3


def partition(method, pp, micro_batches):
    return ask("partition", W_PROFILE, "--pp", pp, "--micro-batches", micro_batches,
               "--method", method, "--recompute", "none")


@pytest.mark.parametrize("method, pp, bottleneck, makespan_2p, makespan_4p", [
    ("even-layers", 4, 124.8, 3786.9, 6782.1),
    ("even-layers", 8, 62.4, 3974.1, 6969.3),
    ("even-layers", 16, 31.2, 4067.7, 7062.9),
    ("vision-first", 4, 202.7, 4864.8, 9729.6),
    ("vision-first", 8, 171.5, 8232.0, 16464.0),
    ("vision-first", 16, 155.9, 14966.4, 29932.8)])
def test_baselines(method, pp, bottleneck, makespan_2p, makespan_4p):
    for micro_batches, makespan in ((2 * pp, makespan_2p), (4 * pp, makespan_4p)):
        answer = partition(method, pp, micro_batches)
        assert answer["bottleneck_forward_s"] == pytest.approx(bottleneck * MS, abs=0.05 * MS)
        assert answer["makespan_s"] == pytest.approx(makespan * MS, abs=0.06 * MS)


@pytest.mark.parametrize("pp, bottleneck", [(4, 99.20), (8, 52.00), (16, 26.00)])
def test_min_max(pp, bottleneck):
    answer = partition("min-max", pp, 2 * pp)
    assert answer["bottleneck_forward_s"] == pytest.approx(bottleneck * MS, abs=0.005 * MS)


@pytest.mark.parametrize("pp, variance", [(4, 1.982), (8, 3.816), (16, 3.279)])
def test_least_variance(pp, variance):
    assert partition("least-variance", pp, 2 * pp)["var_forward"] == pytest.approx(variance,
                                                                                   abs=0.0005)


def joint(profile, pp, micro_batches, *flags):
    return ask("partition", profile, "--pp", pp, "--micro-batches", micro_batches, *flags)


@pytest.mark.parametrize("pp, makespan_2p, makespan_4p", [
    (4, 3244.2, 5625.0), (8, 3459.3, 5955.3), (16, 3552.9, 6048.9)])
def test_joint_is_no_slower_than_the_least_known(pp, makespan_2p, makespan_4p):
    for micro_batches, makespan in ((2 * pp, makespan_2p), (4 * pp, makespan_4p)):
        answer = joint(W_PROFILE, pp, micro_batches)
        assert answer["method"] == "joint"
        assert answer["makespan_s"] <= (makespan + 0.05) * MS
        assert answer["certificate"]["makespan_bound_s"] == pytest.approx(answer["makespan_s"])
        assert answer["lower_bound_s"] == pytest.approx({4: 297.6, 8: 156.0, 16: 78.0}[pp] * MS)


@pytest.mark.parametrize("pp, gigabytes, makespan", [
    (8, 70, 5986.4), (8, 60, 6041.4), (8, 50, 6294.3), (8, 45, 6444.0), (8, 40, 6775.3),
    (16, 70, 6083), (16, 60, 6096), (16, 50, 6420), (16, 45, 6540.1), (16, 40, 6772)])
def test_joint_within_memory(pp, gigabytes, makespan):
    answer = joint(W_PROFILE, pp, 4 * pp, "--memory", f"{gigabytes}GB")
    assert answer["makespan_s"] <= (makespan + 0.05) * MS
    assert answer["certificate"]["proven"]
    assert max(stage["peak_bytes"] for stage in answer["stages"]) <= gigabytes * 10**9


@pytest.mark.parametrize("pp", [4, 8, 16])
def test_joint_knows_that_frozen_layers_have_no_backward(tmp_path, pp):
    profile = json.loads(W_PROFILE.read_text())
    for layer in profile["layers"]:
        layer["trainable"] = layer["kind"] != "vision_block"
    frozen = tmp_path / "frozen.json"
    frozen.write_text(json.dumps(profile))
    by_forward = joint(frozen, pp, 4 * pp, "--method", "min-max", "--recompute", "none")
    assert joint(frozen, pp, 4 * pp)["makespan_s"] <= (1 - 0.165) * by_forward["makespan_s"]


def test_joint_is_no_slower_than_any_method_with_any_recomputation():
    for flags in ([], ["--memory", "45GB"]):
        best = joint(W_PROFILE, 8, 16, *flags)["makespan_s"]
        for method in ("bmp", "min-max", "least-variance", "anchor", "even-layers",
                       "even-parameters"):
            for recompute in ("bar", "joint") if flags else ("none",):
                other = joint(W_PROFILE, 8, 16, "--method", method, "--recompute", recompute, *flags)
                assert best <= other["makespan_s"] * (1 + 1e-12)


def test_what_restrictions_cost():
    free = joint(W_PROFILE, 8, 32, "--memory", "60GB")["makespan_s"]
    for restriction in ("megatron", "uniform"):
        answer = joint(W_PROFILE, 8, 32, "--memory", "60GB", "--restrict", restriction)
        assert answer["cost_of_restriction"] == pytest.approx(answer["makespan_s"] / free - 1)
        assert answer["cost_of_restriction"] > 0
    assert answer["cuts"] == [12, 24, 36, 48, 60, 72, 84]
    assert joint(W_PROFILE, 8, 32, "--memory", "60GB", "--restrict", "megatron")["cuts"][0] >= 47


def test_constraints_name_layers_by_name_or_index():
    free = joint(W_PROFILE, 4, 8)
    cut = free["cuts"][1]
    moved = joint(W_PROFILE, 4, 8, "--forbid-cut", cut, "--keep-together", "vision.0,vision.30")
    assert cut not in moved["cuts"]
    assert not any(0 < c <= 30 for c in moved["cuts"])
