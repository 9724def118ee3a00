# SPDX-License-Identifier: Apache-2.0
"""A plan's ablation beside the paper's table 2 (ICML 2025, arXiv 2407.20761).

    python3 bench/paper_tables/ablation.py PLAN_DIRECTORY
"""
import json
import pathlib
import sys

PAPER_GPU_DAYS = {"baseline": 61.8, "+data": 51.9, "+model": 29.0, "+memory": 21.3}


def main():
    plan = json.loads((pathlib.Path(sys.argv[1]) / "plan.json").read_text())
    print(f"{'row':<10}{'step':>9}{'GPU days':>10}{'paper':>8}{'error':>8}{'speed-up':>10}")
    for row in plan["ablation"]:
        paper = PAPER_GPU_DAYS.get(row["name"])
        beside = f"{paper:8.1f}{row['gpu_days'] / paper - 1:+8.1%}" if paper else " " * 16
        print(f"{row['name']:<10}{row['step_s']:7.2f} s{row['gpu_days']:10.1f}{beside}"
              f"{row['speedup']:9.2f}x")
    print(f"{'no idle':<10}{'':9}{plan['bound']['gpu_days']:10.1f}")
    print("fitted: one constant, 163 TFLOP/s of executed work on an A100, on the paper's 29.0;\n"
          "the sample lengths, drawn from a recipe fitted to the paper's table 3.\n"
          "predicted: the other three rows, by simulating every step of the epoch.")


if __name__ == "__main__":
    main()
