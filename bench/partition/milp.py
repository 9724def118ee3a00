# SPDX-License-Identifier: Apache-2.0
"""Cuts and recomputation under a memory limit as a mixed-integer program, solved by HiGHS.

    answer = solve(layers, stages=8, micro_batches=32, limit_bytes=50e9, seconds=60)
    answer.cuts, answer.recomputed, answer.status

y[i, s] = 1 where layer i lies in stage s or before: monotone in i and in s. Layers that are alike form a
class, of which n[c, s] recompute in stage s; T[s] is the largest activation among them. The slowest
stage's forward + backward + recomputation is minimised. That blocks of a class are interchangeable is
told to the solver (one count a class and stage in place of a choice a layer), which is its easiest form.
"""
import time
import typing

from profile_layers import in_flight, stage_ranges

GB, MS = 1e9, 1e-3


class MilpAnswer(typing.NamedTuple):
    cuts: list
    recomputed: list
    seconds: float  # of the solver alone
    status: str     # "optimal", "time limit, gap 3.1 %", "infeasible"


def classes_of(layers):
    """Indices of the layers that are alike, for those that gain from recomputing."""
    classes = {}
    for index, layer in enumerate(layers):
        if layer.gains:
            classes.setdefault(layer._replace(parameters=0, boundary_bytes=0), []).append(index)
    return list(classes.values())


def add_stages(model, layers, stages):
    """x[s][i]: layer i lies in stage s, as differences of the monotone y."""
    last = len(layers)
    y = [[model.addBinary() for _ in range(last)] for _ in range(stages - 1)]
    for s, row in enumerate(y):
        for i in range(last - 1):
            model.addConstr(row[i + 1] <= row[i])
        if s > 0:
            for i in range(last):
                model.addConstr(y[s - 1][i] <= row[i])

    def member(s, i):
        above = y[s][i] if s < stages - 1 else 1
        return above - y[s - 1][i] if s > 0 else above + 0
    x = [[member(s, i) for i in range(last)] for s in range(stages)]
    for s in range(stages):
        model.addConstr(sum(x[s]) >= 1)
    return x


def add_stage_costs(model, layers, classes, members, limit_gb, held, slowest):
    """Time and memory of one stage; the number of layers of each class that recompute."""
    counts = []
    time_ms = sum((layer.forward_s + layer.backward_s) / MS * x
                  for layer, x in zip(layers, members))
    memory = sum((layer.static_bytes + held * layer.activation_bytes) / GB * x
                 for layer, x in zip(layers, members))
    transient = model.addVariable(lb=0)
    for indices in classes:
        layer = layers[indices[0]]
        count, any_of_them = model.addIntegral(lb=0, ub=len(indices)), model.addBinary()
        model.addConstr(count <= sum(members[i] for i in indices))
        model.addConstr(count <= len(indices) * any_of_them)
        model.addConstr(transient >= layer.activation_bytes / GB * any_of_them)
        time_ms = time_ms + layer.recompute_s / MS * count
        memory = memory - held * (layer.activation_bytes - layer.recomputed_bytes) / GB * count
        counts.append(count)
    model.addConstr(time_ms <= slowest)
    model.addConstr(memory + transient <= limit_gb)
    return counts


def read_answer(model, layers, x, counts, classes):
    values = model.getSolution().col_value

    def value(expression):
        terms = zip(expression.idxs, expression.vals)
        return (expression.constant or 0) + sum(factor * values[i] for i, factor in terms)

    sizes = [round(sum(value(member) for member in row)) for row in x]
    cuts = [sum(sizes[:s]) for s in range(1, len(sizes))]
    recomputed = []
    for (start, end), of_stage in zip(stage_ranges(cuts, len(layers)), counts or [[]] * len(x)):
        for indices, count in zip(classes, of_stage):
            inside = [i for i in indices if start <= i < end]
            recomputed += inside[:round(values[count.index])]
    return cuts, sorted(recomputed)


def solve(layers, stages, micro_batches, limit_bytes, seconds):
    import highspy
    model = highspy.Highs()
    model.silent()
    model.setOptionValue("time_limit", float(seconds))
    slowest = model.addVariable(lb=0)
    x = add_stages(model, layers, stages)
    classes = classes_of(layers) if limit_bytes else []
    counts = []
    for s, members in enumerate(x):
        if limit_bytes:
            counts.append(add_stage_costs(model, layers, classes, members, limit_bytes / GB,
                                          in_flight(s, stages, micro_batches), slowest))
        else:
            model.addConstr(sum((layer.forward_s + layer.backward_s) / MS * member
                                for layer, member in zip(layers, members)) <= slowest)
    began = time.perf_counter()
    model.minimize(slowest)
    spent = time.perf_counter() - began
    status = model.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return MilpAnswer([], [], spent, "infeasible")
    info = model.getInfo()
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return MilpAnswer([], [], spent, "nothing found in time")
    found = ("optimal" if status == highspy.HighsModelStatus.kOptimal
             else f"gap {100 * info.mip_gap:.1f} %")
    return MilpAnswer(*read_answer(model, layers, x, counts, classes), spent, found)
