# SPDX-License-Identifier: Apache-2.0
"""The tables of the OmniBal paper beside what the planner predicts, then what no paper has figures of.

    python tables.py FOLDER [--quick]
"""
import argparse
import pathlib

import paper
from cuts import table_4
from pairs import predictions
from figures import days, gpu_days_of, plan, relative, table
from program import ask

TOLERANCE = 0.05
REFERENCE_TFLOPS = 100  # any; GPU days are inverse to it


def paper_plan(corpus, *flags):
    return plan(corpus, paper.MODEL, paper.CLUSTER, *paper.SIZES, *paper.SCHEDULE, *paper.CAPS, *flags)


def zero3_pair(corpus):
    """GPU days of the unbalanced and the balanced ZeRO-3 run at the one rate that gives the paper's
    balanced figure, and that rate."""
    first = paper_plan(corpus, "--zero3", REFERENCE_TFLOPS)
    balanced = paper.TABLE_1["DeepSpeed ZeRO-3"].balanced
    tflops = REFERENCE_TFLOPS * scaled(first["zero3"]["balanced"]["gpu_days"], first) / balanced
    fitted = paper_plan(corpus, "--zero3", tflops)
    pair = [scaled(fitted["zero3"][row]["gpu_days"], fitted) for row in ("baseline", "balanced")]
    return paper.GpuDays(*pair), tflops


def compared(label, ours, paper_days, how):
    return [label, days(ours), paper_days, relative(ours, paper_days), how]


def scaled(gpu_days, answer):
    """To as many samples as the paper has; the same days where all of them were planned."""
    return gpu_days * paper.SAMPLES / answer["samples"]


def table_1(answer, zero3):
    print("\n### Table 1: GPU days of an epoch, both backends")
    megatron, zero = paper.TABLE_1["Megatron (3D)"], paper.TABLE_1["DeepSpeed ZeRO-3"]
    found, tflops = zero3
    rows = [compared("ZeRO-3, unbalanced", found.unbalanced, zero.unbalanced, "predicted"),
            compared("ZeRO-3, balanced", found.balanced, zero.balanced,
                     f"fitted: {tflops:.0f} TFLOP/s")]
    ours = gpu_days_of(answer)
    for which, name in (("unbalanced", "baseline"), ("balanced", "+memory")):
        rows.append(compared(f"Megatron (3D), {which}", scaled(ours[name], answer),
                             getattr(megatron, which), "predicted"))
    table(["", "ours", "paper", "error", ""], rows)


def table_2(answer):
    print("\n### Table 2: ablation on Megatron, GPU days of an epoch")
    rows, errors = [], []
    for row in answer["ablation"]:
        name, ours = row["name"], scaled(row["gpu_days"], answer)
        published = paper.TABLE_2.get(name)
        tail = [f"{row['step_s']:.2f} s", f"{row['speedup']:.2f}x"]
        if published is None:
            rows.append([name, days(ours), "", "", "beyond the paper", *tail])
            continue
        errors.append(abs(ours / published - 1))
        how = "fitted: 163 TFLOP/s" if name == "+model" else "predicted"
        rows.append([*compared(name, ours, published, how), *tail])
    rows.append(["no idle time", days(scaled(answer["bound"]["gpu_days"], answer)), *[""] * 5])
    table(["", "ours", "paper", "error", "", "step", "speed-up"], rows)
    verdict = "within" if max(errors) <= TOLERANCE else "NOT within"
    print(f"\nLargest error {100 * max(errors):.1f} %: {verdict} {100 * TOLERANCE:.0f} %.")
    if answer["samples"] != paper.SAMPLES:
        print(f"Of {answer['samples']:,} samples, scaled to the paper's {paper.SAMPLES:,}: the last step "
              "weighs more than in the paper.")


def beside(ours, published):
    if published is None:
        return f"{ours:.4f}"
    error = f", {relative(ours, published)}" if published else ""
    return f"{ours:.4f} ({published:g}{error})"


def table_3(corpus):
    print("\n### Table 3: padding and imbalance between 8 ranks, micro-batches of 4 samples")
    answer = ask("compare", corpus, "--dp", 8, "--micro-batch", 4, *paper.CAPS)
    rows = []
    for row in answer["rows"]:
        published = paper.TABLE_3.get(row["method"], paper.Padding(None, None, None))
        ours = (row["pad_ratio"], row["dist_ratio"]["vision"], row["dist_ratio"]["tokens"])
        rows.append([row["method"], *map(beside, ours, published)])
    table(["method (paper's figure, error)", "padding", "imbalance vision", "imbalance tokens"], rows)
    print("\nThe recipe of the corpus was fitted with this table in view: agreement is no prediction.")


def beyond(corpus):
    """The best plan of the same cluster and samples, and what no plan can beat."""
    print("\n### Beyond the paper: the same cluster and samples, links free")
    free = ["--links", "free"]
    padded = [*free, "--heads", "pad"]
    own = [corpus, paper.MODEL, paper.CLUSTER]
    rows = []
    for label, found in (("the paper's caps and schedule", paper_plan(corpus, *free)),
                         ("caps chosen", plan(*own, *paper.SIZES, *paper.SCHEDULE, *free)),
                         ("caps and schedule chosen", plan(*own, *paper.SIZES, *free)),
                         ("caps, schedule and sizes chosen", plan(*own, *paper.GPUS, *free)),
                         ("the paper's caps and schedule, vision heads padded",
                          paper_plan(corpus, *padded)),
                         ("all chosen, vision heads padded", plan(*own, *paper.GPUS, *padded))):
        limits, prediction, sizes = found["limits"], found["prediction"], found["parallel"]
        gpu_days = scaled(prediction["gpu_days"], found)
        schedule = found["schedule"]
        chunks = f" {schedule['chunks']}" if schedule["kind"] == "interleaved" else ""
        rows.append([label, f"{sizes['tp']} x {sizes['pp']} x {sizes['dp']}",
                     schedule["kind"] + chunks, f"{limits['vision_cap']}, {limits['token_cap']}", days(gpu_days),
                     days(scaled(found["bound"]["gpu_days"], found)),
                     f"{prediction['peak_bytes'] / 2**30:.1f}",
                     f"{paper.TABLE_2['baseline'] / gpu_days:.2f}x"])
    table(["", "tp x pp x dp", "schedule", "caps", "GPU days", "without any idle time", "fullest device GiB",
           "against the paper's 61.8"], rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help="few samples, few models")
    options = parser.parse_args()
    corpus = options.folder / "internvl-1.2m"
    few = ["--samples", 20_000] if options.quick else []
    ask("synth", "--preset", "internvl-1.2m", *few, "--out", corpus)
    answer = paper_plan(corpus)
    table_1(answer, zero3_pair(corpus))
    table_2(answer)
    table_3(corpus)
    table_4(corpus, options.folder, 4 if options.quick else 80)
    beyond(corpus)
    predictions(corpus, options.folder, options.quick)


if __name__ == "__main__":
    main()
