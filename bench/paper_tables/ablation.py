# SPDX-License-Identifier: Apache-2.0
"""A plan's ablation beside the paper's table 2 (ICML 2025, arXiv 2407.20761).

    python3 bench/paper_tables/ablation.py PLAN_DIRECTORY
"""
import json
import pathlib
import sys

PAPER_GPU_DAYS = {"baseline": 61.8, "+data": 51.9, "+model": 29.0, "+memory": 21.3}


INTERNVL_SAMPLES = 1_267_819


def days(gpu_days):
    """One decimal; three digits where that would hide a short epoch."""
    return f"{gpu_days:.1f}" if gpu_days >= 10 else f"{gpu_days:.3g}"


def main():
    plan = json.loads((pathlib.Path(sys.argv[1]) / "plan.json").read_text())
    same_data = plan["corpus"]["samples"] == INTERNVL_SAMPLES
    print(f"{'row':<10}{'step':>9}{'GPU days':>10}{'paper':>8}{'error':>8}{'speed-up':>10}")
    for row in plan["ablation"]:
        paper = PAPER_GPU_DAYS.get(row["name"])
        beside = f"{paper:8.1f}" if paper else " " * 8
        error = f"{row['gpu_days'] / paper - 1:+8.1%}" if paper and same_data else " " * 8
        print(f"{row['name']:<10}{row['step_s']:7.2f} s{days(row['gpu_days']):>10}{beside}{error}"
              f"{row['speedup']:9.2f}x")
    print(f"{'no idle':<10}{'':9}{days(plan['bound']['gpu_days']):>10}")
    if not same_data:
        print("The paper's figures are of its 1.27 M samples, not of yours: compare speed-ups.")
    print("fitted: one constant, 163 TFLOP/s of executed work on an A100, on the paper's 29.0 (row\n"
          "+model); the lengths of internvl-1.2m are drawn from a recipe fitted to the paper's\n"
          "table 3. predicted: the other rows, by simulating every step of the epoch.")


if __name__ == "__main__":
    main()
