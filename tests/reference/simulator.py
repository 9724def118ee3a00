# SPDX-License-Identifier: Apache-2.0
"""Independent pipeline simulator, driven by events. Plain Python, shares no code with the program it checks.

    python3 tests/reference/simulator.py < case.json        # {"makespan": 33.0, "busy": [24.0, ...]}

The case, in seconds: {"kind": "1f1b" | "gpipe" | "interleaved" | "zb-h1" | "zb-v", "forward": [micro-batch][stage],
"backward": [micro-batch][stage] (recomputation included), optional "weight": [micro-batch][stage] (the part of
"backward" that a kind with W actions runs apart), "chunks" (stages a rank, for "interleaved"), "link":
[micro-batch][boundary] and "gradient_link" (default: as "link")}.

An action is ("F" | "B" | "W", stage, micro-batch). A rank takes its list in order, one action at a time, and waits:
F for the activation from the stage before, B for its F and the gradient from the stage behind, W for its B. A tensor
arrives a link's delay after its action has ended; links neither occupy a rank nor queue, and are free inside a rank.
"""
import heapq
import itertools
import json
import sys


def in_turns(forwards, backwards, ahead):
    """Before backward i, `ahead(i)` forwards have run; what follows a backward is part of its entry."""
    order, done = [], 0
    for i, backward in enumerate(backwards):
        while done < min(len(forwards), ahead(i)):
            order.append(forwards[done])
            done += 1
        order += backward
    return order


def interleaved(ranks, chunks, rank, count):
    """Megatron-LM: micro-batches go through a rank's chunks in groups, here as even as can be, of at least `ranks`."""
    groups = max(1, count // ranks)
    sizes = [count // groups + (g >= groups - count % groups) for g in range(groups)]
    units = [(c, sum(sizes[:g]) + j) for g in range(groups) for c in range(chunks) for j in range(sizes[g])]
    forwards = [("F", c * ranks + rank, m) for c, m in units]
    backwards = [[("B", (chunks - 1 - c) * ranks + rank, m)] for c, m in units]
    return in_turns(forwards, backwards, lambda i: 2 * (ranks - 1 - rank) + (chunks - 1) * max(sizes) + i + 1)


def zb_h1(ranks, rank, count):
    """Weight gradients wait for `rank` more backwards, so that each rank holds `ranks` micro-batches."""
    backwards = [[("B", rank, m)] + [("W", rank, m - rank)] * (m >= rank) for m in range(count)]
    order = in_turns([("F", rank, m) for m in range(count)], backwards, lambda i: ranks - rank + i)
    return order + [("W", rank, m) for m in range(max(0, count - rank), count)]


def zb_v(ranks, rank, count):
    """Down through stage `rank`, up through stage 2 ranks - 1 - rank; phases as in PyTorch's ScheduleZBVZeroBubble."""
    down, up, order, at = rank, 2 * ranks - 1 - rank, [], {}

    def run(*actions):
        for kind, stage in actions:
            at[kind, stage] = at.get((kind, stage), -1) + 1
            order.append((kind, stage, at[kind, stage]))

    total = max(count, 2 * ranks - 1)  # as if there were enough, less those that are not there
    down_back, up_back = [("B", down), ("W", down)], [("B", up), ("W", up)]
    run(*[("F", down)] * (2 * (ranks - rank) - 1))
    run(*[("F", up), ("F", down)] * rank)
    run(*[("F", up), *up_back] * (ranks - rank))
    while at.get(("F", down), -1) + 1 < total:
        run(("F", down), *down_back, ("F", up), *up_back)
    while at.get(("F", up), -1) < at["F", down]:
        run(*down_back, ("F", up), *up_back)
    run(*[("B", down), ("B", up)] * rank)
    run(*down_back * (ranks - rank))
    for stage in (up, down):
        run(*[("W", stage)] * (total - 1 - at.get(("W", stage), -1)))
    return [action for action in order if action[2] < count]


def lists(kind, stages, chunks, count):
    """The rank of each stage, and each rank's actions in order."""
    if kind == "interleaved":
        ranks = stages // chunks
        return ([s % ranks for s in range(stages)], [interleaved(ranks, chunks, r, count) for r in range(ranks)])
    if kind == "zb-v":
        ranks = stages // 2
        return ([min(s, stages - 1 - s) for s in range(stages)], [zb_v(ranks, r, count) for r in range(ranks)])
    if kind == "zb-h1":
        return range(stages), [zb_h1(stages, s, count) for s in range(stages)]
    ahead = {"gpipe": lambda s: lambda i: count, "1f1b": lambda s: lambda i: stages - s + i}[kind]
    return range(stages), [in_turns([("F", s, m) for m in range(count)], [[("B", s, m)] for m in range(count)],
                                    ahead(s)) for s in range(stages)]


def ends(rank_of, orders, seconds, delay):
    """{action: when it ends}. `seconds(action)`; `delay(kind, boundary, micro-batch)` of a tensor."""
    last, end, here, events, number = len(rank_of) - 1, {}, set(), [], itertools.count()
    next_of, busy = [0] * len(orders), [False] * len(orders)

    def arrives(tensor, now, seconds_later):
        heapq.heappush(events, (now + seconds_later, next(number), None, tensor))

    def waits_for(kind, s, m):
        return {"F": {("activation", s, m)} if s > 0 else set(),
                "B": {("F", s, m)} | ({("gradient", s, m)} if s < last else set()), "W": {("B", s, m)}}[kind]

    def start(rank, now):
        if busy[rank] or next_of[rank] == len(orders[rank]):
            return
        action = orders[rank][next_of[rank]]
        if waits_for(*action) <= here:
            busy[rank] = True
            next_of[rank] += 1
            heapq.heappush(events, (now + seconds(action), next(number), rank, action))

    for rank in range(len(orders)):
        start(rank, 0.0)
    while events:
        now, _, rank, what = heapq.heappop(events)
        here.add(what)
        kind, s, m = what
        if rank is None:
            start(rank_of[s], now)
            continue
        end[what], busy[rank] = now, False
        to = {"F": s + 1, "B": s - 1}.get(kind, -1)
        if 0 <= to <= last:
            free = rank_of[to] == rank
            arrives(("activation" if kind == "F" else "gradient", to, m), now,
                    0.0 if free else delay(kind, min(s, to), m))
        start(rank, now)
    if len(end) != sum(map(len, orders)):
        raise ValueError("the schedule deadlocks")
    return end


def simulate(forward, backward, link=None, kind="1f1b", gradient_link=None, weight=None, chunks=1):
    """Returns the makespan, the busy seconds of each rank, and when each stage's last gradient is there."""
    count, stages = len(forward), len(forward[0])
    link = link or [[0.0] * (stages - 1)] * count
    weight = weight if weight and kind.startswith("zb") else [[0.0] * stages] * count
    rank_of, orders = lists(kind, stages, chunks, count)
    cost = {"F": lambda s, m: forward[m][s], "B": lambda s, m: backward[m][s] - weight[m][s],
            "W": lambda s, m: weight[m][s]}
    delays = {"F": link, "B": gradient_link or link}
    end = ends(rank_of, orders, lambda action: cost[action[0]](*action[1:]),
               lambda kind, boundary, m: delays[kind][m][boundary])
    busy = [0.0] * len(orders)
    for kind, s, m in end:
        busy[rank_of[s]] += cost[kind](s, m)
    last = [max(at for (_, stage, _), at in end.items() if stage == s) for s in range(stages)]
    return max(end.values(), default=0.0), busy, last


if __name__ == "__main__":
    case = json.load(sys.stdin)
    print(json.dumps(dict(zip(("makespan", "busy"), simulate(**case)))))
