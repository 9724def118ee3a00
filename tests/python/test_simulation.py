# SPDX-License-Identifier: Apache-2.0
"""Steps against an independent simulation: events in plain Python (tests/reference)."""
import json
import pathlib
import random
import sys

import pytest

from conftest import ROOT, W_PROFILE, ask, refuse

sys.path.insert(0, str(ROOT / "tests" / "reference"))
import simulator  # noqa: E402


TIMES = ("forward_s", "input_grad_s", "weight_grad_s", "recompute_s")
KINDS = ["1f1b", "gpipe", "interleaved", "zb-h1", "zb-v"]
CASES = 500


def at(cost, load):
    """A cost at a load."""
    terms = {"per_vision_unit": "vision_units", "per_token": "tokens", "per_token_pair": "token_pairs"}
    return cost.get("constant", 0) + sum(cost.get(term, 0) * load[part] for term, part in terms.items())


def random_layers(rng):
    def cost(scale):
        return {"constant": rng.uniform(0, scale), "per_vision_unit": rng.uniform(0, scale / 5),
                "per_token": rng.uniform(0, scale / 1000), "per_token_pair": rng.uniform(0, scale / 1e6)}
    frozen = rng.choice([0, 0, 0, 1, 3])
    layers = [{"name": f"block.{i}", "trainable": i >= frozen, "parameters": rng.randint(1, 10**7),
               **{key: cost(0.01) for key in TIMES}, "boundary_bytes": cost(1e6),
               "activation_bytes": cost(1e6), "recomputed_bytes": 10, "static_bytes": 5}
              for i in range(rng.randint(4, 24))]
    return layers


def random_case(seed):
    rng = random.Random(seed)
    layers, kind = random_layers(rng), KINDS[seed % len(KINDS)]
    chunks = {"interleaved": rng.randint(2, 3), "zb-v": 2}.get(kind, 1)
    chunks = min(chunks, len(layers))
    pp = rng.randint(1, min(6, len(layers) // chunks))
    loads = [{"vision_units": rng.randint(0, 9), "tokens": rng.randint(1, 4096),
              "token_pairs": rng.randint(1, 10**6)} for _ in range(rng.randint(1, 14))]
    return {"layers": layers, "kind": kind, "chunks": chunks, "pp": pp, "loads": loads,
            "cuts": sorted(rng.sample(range(1, len(layers)), pp * chunks - 1)),
            "recompute": sorted(rng.sample(range(len(layers)), rng.randint(0, len(layers)))),
            "tp": rng.choice([1, 2]), "dp": rng.randint(1, 4), "node": rng.choice([2, 4, 8]),
            "inner": (rng.uniform(1e8, 1e9), rng.uniform(0, 1e-3)),
            "outer": (rng.uniform(1e7, 1e8), rng.uniform(0, 1e-2)), "memory": rng.uniform(1e10, 1e11),
            "links": rng.random() < 0.7, "update": rng.choice(["none", "all-reduce", "distributed"])}


def written_case(case, directory):
    """Files of the case, and the command that simulates it."""
    (directory / "profile.json").write_text(json.dumps({
        "format": "omnibal.profile", "version": 1, "source": "manual", "layers": case["layers"],
        "load": {"vision_units": 1, "tokens": 1, "token_pairs": 1}}))
    (directory / "loads.json").write_text(json.dumps(case["loads"]))
    links = "".join(f"[{name}]\nbytes_per_s = {case[name][0]!r}\nlatency_s = {case[name][1]!r}\n"
                    for name in ("inner", "outer"))
    (directory / "cluster.toml").write_text(
        f"base = \"a100-80g\"\ndevices_per_node = {case['node']}\n"
        f"memory_bytes_per_s = {case['memory']!r}\n{links}")
    command = ["simulate", "--profile", directory / "profile.json", "--loads", directory / "loads.json",
               "--cuts", ",".join(map(str, case["cuts"])), "--schedule", case["kind"],
               "--recompute-layers", ",".join(map(str, case["recompute"]))]
    if case["kind"] in ("interleaved", "zb-v"):
        command += ["--chunks", case["chunks"]]
    if case["links"]:
        command += ["--cluster", directory / "cluster.toml", "--tp", case["tp"], "--dp", case["dp"],
                    "--update", case["update"]]
    return command


def stage_times(case):
    """Seconds of forward, backward (recomputation included) and the weight gradients in it, and the bytes
    handed on and back: [micro-batch][stage]."""
    edges = [0, *case["cuts"], len(case["layers"])]
    first = next((i for i, layer in enumerate(case["layers"]) if layer["trainable"]), len(case["layers"]))
    table = {"forward": [], "backward": [], "weight": [], "bytes": [], "gradient_bytes": []}
    for load in case["loads"]:
        row = {key: [] for key in table}
        for begin, end in zip(edges, edges[1:]):
            forward = backward = weight = 0.0
            for i in range(begin, end):
                layer, trains = case["layers"][i], i >= first
                forward += at(layer["forward_s"], load)
                weight += at(layer["weight_grad_s"], load) * trains
                backward += at(layer["weight_grad_s"], load) * trains
                backward += at(layer["input_grad_s"], load) * (i > first)
                backward += at(layer["recompute_s"], load) * (i in case["recompute"] and trains)
            boundary = at(case["layers"][end - 1]["boundary_bytes"], load)
            for key, value in zip(table, (forward, backward, weight, boundary, boundary * (end > first))):
                row[key].append(value)
        for key in table:
            table[key].append(row[key])
    return table


def node_of(case, rank, dp_rank):
    return (rank * case["dp"] + dp_rank) * case["tp"] // case["node"]


def link_seconds(case, rank_of, sizes, dp_rank):
    """[micro-batch][boundary]: the tp devices of a rank each send their share."""
    def seconds(stage, size):
        here, there = (node_of(case, rank_of[s], dp_rank) for s in (stage, stage + 1))
        rate, latency = case["inner" if here == there else "outer"]
        return latency + size / (rate * case["tp"]) if size > 0 else 0.0
    return [[seconds(s, row[s]) for s in range(len(row) - 1)] for row in sizes]


def ring_seconds(case, rank, size):
    """All-gather of `size` bytes over a rank's data-parallel group, or reduce-scatter."""
    nodes = [node_of(case, rank, d) for d in range(case["dp"])]
    if case["dp"] == 1 or size == 0:
        return 0.0
    rates = [case["inner"][0]] if len(set(nodes)) < len(nodes) else []
    if len(set(nodes)) > 1:
        rates.append(case["outer"][0] * min(nodes.count(node) for node in nodes))
    latency = (len(set(nodes)) - 1) * case["outer"][1] + (len(nodes) - len(set(nodes))) * case["inner"][1]
    return latency + size * (case["dp"] - 1) / case["dp"] / min(rates)


def step_seconds(case, rank_of, computed, ready):
    """The step with the reduction of gradients, the optimizer and the gathering of weights behind it."""
    if not case["links"] or case["update"] == "none":
        return computed
    edges = [0, *case["cuts"], len(case["layers"])]
    held = [sum(layer["parameters"] / case["tp"] for layer in case["layers"][begin:end] if layer["trainable"])
            for begin, end in zip(edges, edges[1:])]
    sharded, reduced, ends = case["update"] == "distributed", computed, []
    for rank in range(case["pp"]):
        stages, clock = [s for s in range(len(held)) if rank_of[s] == rank], 0.0
        for s in sorted(stages, key=lambda s: ready[s]):
            clock = max(clock, ready[s]) + ring_seconds(case, rank, 4 * held[s]) * (1 if sharded else 2)
        reduced = max(reduced, clock)
        ends.append(sum(30 * held[s] / case["memory"] / (case["dp"] if sharded else 1)
                        + ring_seconds(case, rank, 2 * held[s]) * sharded for s in stages))
    return reduced + max(ends)


def expected_step(case):
    """Seconds of the step, and the busy seconds of each rank without the optimizer."""
    table, stages = stage_times(case), case["pp"] * case["chunks"]
    rank_of = simulator.lists(case["kind"], stages, case["chunks"], len(case["loads"]))[0]
    computed, ready, busy = 0.0, [0.0] * stages, None
    for dp_rank in range(case["dp"] if case["links"] else 1):
        links = {} if not case["links"] else {
            "link": link_seconds(case, rank_of, table["bytes"], dp_rank),
            "gradient_link": link_seconds(case, rank_of, table["gradient_bytes"], dp_rank)}
        makespan, busy, done = simulator.simulate(
            table["forward"], table["backward"], kind=case["kind"], weight=table["weight"],
            chunks=case["chunks"], **links)
        computed, ready = max(computed, makespan), [max(pair) for pair in zip(ready, done)]
    return step_seconds(case, rank_of, computed, ready), busy


@pytest.mark.parametrize("first", range(0, CASES, 50))
def test_random_steps(first, tmp_path):
    for seed in range(first, first + 50):
        case = random_case(seed)
        answer = ask(*written_case(case, tmp_path))
        seconds, busy = expected_step(case)
        assert answer["makespan_s"] == pytest.approx(seconds, rel=1e-9), (seed, case["kind"])
        device_seconds = seconds * len(answer["ranks"])
        assert sum(answer["breakdown"].values()) == pytest.approx(device_seconds, rel=1e-9), seed
        assert min(answer["breakdown"].values()) >= 0
        ranks = answer["ranks"][:case["pp"]]
        optimizer = answer["optimizer_s"] * len(ranks) / len(answer["ranks"])
        assert sum(rank["busy_s"] for rank in ranks) == pytest.approx(sum(busy) + optimizer, rel=1e-9)
        if optimizer == 0:
            for rank, rank_busy in zip(ranks, busy, strict=True):
                assert rank["busy_s"] == pytest.approx(rank_busy, rel=1e-9)


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


@pytest.mark.parametrize("kind,chunks,least", [("1f1b", 1, 1), ("gpipe", 1, 1), ("interleaved", 2, 4),
                                               ("interleaved", 3, 4)])
def test_bubbles_are_the_published_ones(kind, chunks, least, tmp_path):
    """Megatron-LM, arXiv 2104.04473, section 2.2: idle over all time (p - 1) / (v m + p - 1)."""
    pp, profile = 4, tmp_path / "profile.json"
    profile.write_text(json.dumps({
        "format": "omnibal.profile", "version": 1, "layers": [
            {"name": f"block.{i}", "forward_s": 1, "input_grad_s": min(i, 1), "weight_grad_s": 2 - min(i, 1)}
            for i in range(pp * chunks)]}))
    for micro_batches in range(least, 12):
        answer = ask("simulate", "--profile", profile, "--cuts", ",".join(map(str, range(1, pp * chunks))),
                     "--micro-batches", micro_batches, "--schedule", kind,
                     *(["--chunks", chunks] if chunks > 1 else []))
        assert answer["bubble_fraction"] == pytest.approx((pp - 1) / (chunks * micro_batches + pp - 1), rel=1e-9)
        assert len(answer["ranks"]) == pp


def test_a_plan_under_other_schedules(small_plan, tmp_path):
    own = ask("simulate", small_plan)
    assert ask("simulate", small_plan, "--schedule", "zb-h1")["makespan_s"] < own["makespan_s"]
    error = refuse(2, "simulate", small_plan, "--schedule", "zb-v")
    assert "--cuts" in error["hint"]
    cuts = [12, 24, 36, 46, 58, 70, 83]
    trace = tmp_path / "trace.json"
    turned = ask("simulate", small_plan, "--schedule", "zb-v", "--cuts", ",".join(map(str, cuts)),
                 "--update", "distributed", "--trace", trace)
    assert [rank["stages"] for rank in turned["ranks"][:4]] == [[0, 7], [1, 6], [2, 5], [3, 4]]
    assert turned["schedule"] == {"kind": "zb-v", "chunks": 2}
    assert 0 < turned["optimizer_s"] < turned["breakdown"]["useful_s"]
    assert 0 < turned["reduction_s"] <= turned["breakdown"]["communication_s"]
    kinds = {event.get("cat", event["ph"]) for event in json.loads(trace.read_text())["traceEvents"]}
    assert kinds >= {"forward", "backward", "weight gradient", "step end", "C"}


def test_what_does_not_fit_a_schedule_is_refused():
    def refused(*flags, micro_batches=8):
        return refuse(2, "simulate", "--profile", W_PROFILE, "--cuts", "30,60", "--micro-batches", micro_batches,
                      *flags)
    assert "2 stages a rank" in refused("--schedule", "interleaved", "--chunks", 1)["message"]
    assert refused("--schedule", "zb-v")["where"]["key"] == "--chunks"
    assert "--cluster" in refused("--update", "all-reduce")["hint"]
    assert refused("--dp", 4096, micro_batches=2000)["where"]["key"] == "--dp"


def test_vision_before_or_nested_adds_up_and_apart_uses_its_own_ranks():
    flags = ("simulate", "--profile", W_PROFILE, "--cuts", "46,58,70,83", "--micro-batches", 16)
    for place, ranks in (("before", 4), ("nested", 4), ("apart", 7)):
        more = ("--vision-ranks", 3) if place == "apart" else ()
        step = ask(*flags, "--vision", place, *more)
        assert len(step["ranks"]) == ranks
        whole = step["makespan_s"] * ranks
        assert abs(sum(step["breakdown"].values()) - whole) <= 1e-9 * whole
    refuse(2, "simulate", "--profile", W_PROFILE, "--micro-batches", 16, "--vision", "nested")
    refuse(2, *flags, "--vision", "nested", "--vision-ranks", 2)
    error = refuse(2, *flags, "--vision", "apart", "--vision-ranks", 17)
    assert (error["value"], error["limit"]) == (17, 16)
    assert ask(*flags, "--vision", "apart", "--vision-ranks", 16)["schedule"]["chunks"] == 1
