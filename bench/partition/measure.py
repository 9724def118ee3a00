# SPDX-License-Identifier: Apache-2.0
"""Ways to cut a pipeline side by side on the same layers; all figures but seconds are `omnibal simulate`'s.

    python measure.py FOLDER [--quick] [--only omnibal,DeepSpeed]
"""
import argparse
import pathlib
import sys
import time
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "reference"))
import milp  # noqa: E402
from peers import PEERS, cuts_of_megatron_layout, megatron_layout  # noqa: E402
from profile_layers import in_flight, read_layers, stage_peak, stage_ranges  # noqa: E402
from program import INFEASIBLE, ask  # noqa: E402

W = ROOT / "tests" / "data" / "w.json"
REPEATS = 3  # the least seconds count; of the MILP one run
OURS = {"omnibal joint": ["--method", "joint"],
        "omnibal bmp (the paper's)": ["--method", "bmp"]}
LAYOUT = "Megatron-Core, layout by omnibal"
MILP = "MILP in HiGHS"
GB, MS = 1e9, 1e-3
ROUNDING = 1e-9


class Instance(typing.NamedTuple):
    name: str
    profile: pathlib.Path
    stages: int
    micro_batches: int
    limit: float | None = None  # bytes a device

    @property
    def title(self):
        limit = f", at most {self.limit / GB:.1f} GB" if self.limit else ""
        return f"{self.name}, {self.stages} stages, {self.micro_batches} micro-batches{limit}"


class Answer(typing.NamedTuple):
    """What a planner says: cuts, which layers recompute and how that is told, seconds, a remark."""
    cuts: list
    recomputed: list
    told: str
    seconds: float
    remark: str = ""


def partition(instance, *flags):
    """The answer, or None where there is none."""
    limit = ["--memory", int(instance.limit)] if instance.limit else []
    return ask("partition", instance.profile, "--pp", instance.stages, "--micro-batches",
               instance.micro_batches, *limit, *flags, none_if=INFEASIBLE)


class Verdict(typing.NamedTuple):
    bottleneck_s: float
    makespan_s: float
    peak_bytes: float


def judge(instance, layers, cuts, recomputed):
    """Makespan, slowest stage and fullest stage by simulation; memory is checked against the formula."""
    flags = ["--cuts", ",".join(map(str, cuts))]
    if recomputed:
        flags += ["--recompute-layers", ",".join(map(str, recomputed))]
    answer = ask("simulate", "--profile", instance.profile, "--micro-batches",
                 instance.micro_batches, *flags)
    stages = stage_ranges(cuts, len(layers))
    for stage, ((start, end), rank) in enumerate(zip(stages, answer["ranks"], strict=True)):
        inside = [i - start for i in recomputed if start <= i < end and layers[i].gains]
        held = in_flight(stage, instance.stages, instance.micro_batches)
        peak = stage_peak(layers[start:end], inside, held)
        assert abs(peak - rank["peak_bytes"]) < 1e-6 * peak, (stage, peak, rank["peak_bytes"])
    return Verdict(max(rank["busy_s"] for rank in answer["ranks"]) / instance.micro_batches,
                   answer["makespan_s"], max(rank["peak_bytes"] for rank in answer["ranks"]))


def fits(instance, verdict):
    return not instance.limit or verdict.peak_bytes <= instance.limit


def our_answer(instance, flags):
    answers = [partition(instance, *flags) for _ in range(REPEATS)]
    if None in answers:
        return Answer([], [], "", None, "nothing fits")
    answer = min(answers, key=lambda found: found["solve_seconds"])
    recomputed = answer["recompute"]
    return Answer(answer["cuts"], recomputed, str(len(recomputed)), answer["solve_seconds"])


def least_recomputation(instance, layers, cuts, choices):
    """The first choice that fits; the last if none does."""
    for told, recomputed in choices:
        if fits(instance, judge(instance, layers, cuts, recomputed)):
            break
    return told, recomputed


def timed(call):
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        found = call()
        seconds.append(time.perf_counter() - began)
    return found, min(seconds)


def peer_answer(instance, layers, peer):
    cuts, seconds = timed(lambda: peer.cut(layers, instance.stages))
    told, recomputed = least_recomputation(instance, layers, cuts, peer.recompute(layers, cuts))
    return Answer(cuts, recomputed, told, seconds)


def layout_answer(instance, layers):
    """The best that Megatron-Core can be told, by us, and read back by its own parser."""
    answer = our_answer(instance, ["--method", "joint", "--restrict", "megatron"])
    if not answer.cuts:
        return answer
    read = cuts_of_megatron_layout(layers, megatron_layout(layers, answer.cuts), instance.stages)
    assert read == answer.cuts, (read, answer.cuts)
    return answer


def milp_answer(instance, layers, seconds):
    found = milp.solve(layers, instance.stages, instance.micro_batches, instance.limit, seconds)
    return Answer(found.cuts, found.recomputed, str(len(found.recomputed)), found.seconds, found.status)


def answers_of(instance, layers, wanted, milp_seconds):
    """(planner, answer) of those asked for."""
    planners = {name: lambda flags=flags: our_answer(instance, flags) for name, flags in OURS.items()}
    planners[MILP] = lambda: milp_answer(instance, layers, milp_seconds)
    for name, peer in PEERS.items():
        planners[name] = lambda peer=peer: peer_answer(instance, layers, peer)
    planners[LAYOUT] = lambda: layout_answer(instance, layers)
    for name, answer in planners.items():
        if not wanted or any(name.startswith(part) for part in wanted):
            yield name, answer()


def milliseconds(seconds):
    if seconds is None:
        return ""
    return f"{seconds / MS:.2g}" if seconds < 0.1 else f"{seconds / MS:,.0f}"


def above(makespan, reference):
    """In percent; differences in the last digits of a double are none."""
    return f"{round(100 * (makespan / reference - 1), 1) + 0.0:+.1f} %"


def row(instance, name, answer, verdict, best):
    if not answer.cuts:
        return [name, "", "", "", "", "", milliseconds(answer.seconds), answer.remark]
    inside = fits(instance, verdict)
    over = above(verdict.makespan_s, best) if inside else "does not fit"
    return [name, f"{verdict.bottleneck_s / MS:.1f}", f"{verdict.makespan_s / MS:,.1f}", over,
            f"{verdict.peak_bytes / GB:.1f}", answer.told, milliseconds(answer.seconds), answer.remark]


COLUMNS = ["planner", "bottleneck ms", "makespan ms", "over joint", "peak GB", "recomputed layers",
           "solved in ms", "remark"]


def compare(instance, wanted, milp_seconds):
    layers = read_layers(instance.profile)
    joint = partition(instance)
    verdicts = {}
    print(f"\n### {instance.title}\n\n| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for name, answer in answers_of(instance, layers, wanted, milp_seconds):
        verdict = judge(instance, layers, answer.cuts, answer.recomputed) if answer.cuts else None
        if verdict and fits(instance, verdict):
            verdicts[name] = verdict
        print(f"| {' | '.join(row(instance, name, answer, verdict, joint['makespan_s']))} |", flush=True)
    print_bounds(joint, verdicts)


def print_bounds(joint, verdicts):
    bound = joint["certificate"]["makespan_bound_s"]
    for name, verdict in verdicts.items():
        assert verdict.bottleneck_s > joint["lower_bound_s"] * (1 - ROUNDING), (name, verdict)
        assert verdict.makespan_s > bound * (1 - ROUNDING), (name, verdict)
    print(f"\nNo plan has a bottleneck below {joint['lower_bound_s'] / MS:.1f} ms or a makespan below "
          f"{bound / MS:,.1f} ms.", end=" ")
    others = {name: verdict for name, verdict in verdicts.items() if name != "omnibal joint"}
    if "omnibal joint" in verdicts and others:
        ours = verdicts["omnibal joint"].makespan_s
        best = min(others, key=lambda name: others[name].makespan_s)
        print(f"Best of the others: {best}, {above(others[best].makespan_s, ours)}.", end="")
    print(flush=True)


def internvl_instances(folder):
    """InternVL-Chat-1.5 on 64 A100, at tp 2: 4 stages of 8 ranks, 8 stages of 4."""
    usable = (80 << 30) * 0.94
    for stages, dp in ((4, 8), (8, 4)):
        profile = folder / f"internvl-{stages}.json"
        ask("profile", "--model", "internvl-chat-1.5-26b", "--cluster", "a100-80g", "--tp", 2,
            "--dp", dp, "--out", profile)
        yield Instance("InternVL-Chat-1.5 26B (analytic)", profile, stages, 32, usable)


def instances(folder, quick):
    if quick:
        return [Instance("W", W, 4, 8), Instance("W", W, 8, 32, 45e9)]
    return [*(Instance("W", W, stages, times * stages) for stages in (4, 8, 16) for times in (2, 4)),
            *(Instance("W", W, 8, 32, limit * GB) for limit in (70, 60, 50, 45, 40)),
            *internvl_instances(folder)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="planners by the beginning of their names")
    options = parser.parse_args()
    wanted = [name for name in options.only.split(",") if name]
    for instance in instances(options.folder, options.quick):
        compare(instance, wanted, 10 if options.quick else 60)


if __name__ == "__main__":
    main()
