# SPDX-License-Identifier: Apache-2.0
"""Independent pipeline simulator: longest path over the dependency graph of GPipe or 1F1B. Plain Python.

    python3 tests/reference/simulator.py < case.json        # {"makespan": 33.0, "busy": [24.0, ...]}

The case: {"kind": "1f1b", "forward": [micro-batch][stage], "backward": [micro-batch][stage] (recomputation
included), optional "link": [micro-batch][boundary] and "gradient_link" (default: as "link")}, all in seconds.

A node is ("F" | "B", stage, micro-batch). What it waits for, each with the delay that passes in between:
    F(s, m)    F(s-1, m)   link[m][s-1]            activations from the stage before
    B(s, m)    B(s+1, m)   gradient_link[m][s]     gradients from the stage behind
    B(p-1, m)  F(p-1, m)   0
    any        the action before it in its stage's list, 0: a stage does one thing at a time
Links are latencies: they delay the receiver and neither occupy a stage nor queue behind each other.
Shares no code with the program it checks.
"""
import json
import sys


def actions(kind, stages, stage, micro_batches):
    """The ordered list of (kind, micro-batch) of one stage."""
    if kind == "gpipe":
        return [("F", m) for m in range(micro_batches)] + [("B", m) for m in range(micro_batches)]
    if kind != "1f1b":
        raise ValueError(f"no schedule {kind!r}")
    warmup = min(micro_batches, stages - 1 - stage)
    order = [("F", m) for m in range(warmup)]
    for m in range(warmup, micro_batches):  # steady: one forward, one backward
        order += [("F", m), ("B", m - warmup)]
    return order + [("B", m) for m in range(micro_batches - warmup, micro_batches)]


def dependencies(kind, stages, micro_batches, link, gradient_link):
    """node -> [(node it waits for, delay)]."""
    before = {}
    for s in range(stages):
        for m in range(micro_batches):
            before["F", s, m] = [(("F", s - 1, m), link[m][s - 1])] if s > 0 else []
            behind = [(("B", s + 1, m), gradient_link[m][s])] if s < stages - 1 else []
            before["B", s, m] = behind or [(("F", s, m), 0.0)]
        order = [(k, s, m) for k, m in actions(kind, stages, s, micro_batches)]
        for earlier, later in zip(order, order[1:]):
            before[later].append((earlier, 0.0))
    return before


def simulate(forward, backward, link=None, kind="1f1b", gradient_link=None):
    """Returns the makespan and the busy seconds of each stage."""
    micro_batches, stages = len(forward), len(forward[0])
    link = link or [[0.0] * (stages - 1)] * micro_batches
    duration = {"F": forward, "B": backward}
    before = dependencies(kind, stages, micro_batches, link, gradient_link or link)
    after = {node: [] for node in before}
    waiting = {node: len(sources) for node, sources in before.items()}
    for node, sources in before.items():
        for source, _ in sources:
            after[source].append(node)
    ready, end = [node for node, count in waiting.items() if count == 0], {}
    while ready:  # every source has ended when a node is taken
        node = ready.pop()
        start = max((end[source] + delay for source, delay in before[node]), default=0.0)
        end[node] = start + duration[node[0]][node[2]][node[1]]
        for target in after[node]:
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    if len(end) != len(before):
        raise ValueError("the schedule deadlocks")
    busy = [sum(forward[m][s] + backward[m][s] for m in range(micro_batches)) for s in range(stages)]
    return max(end.values(), default=0.0), busy


if __name__ == "__main__":
    case = json.load(sys.stdin)
    makespan, busy = simulate(case["forward"], case["backward"], case.get("link"), case.get("kind", "1f1b"),
                              case.get("gradient_link"))
    print(json.dumps({"makespan": makespan, "busy": busy}))
