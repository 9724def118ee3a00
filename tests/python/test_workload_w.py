# SPDX-License-Identifier: Apache-2.0
"""Workload W (docs/methods/pipeline.md): published figures of simple partitions."""
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
