# SPDX-License-Identifier: Apache-2.0
"""Runs the program, and what the tables print numbers with.

    ask("plan", corpus, *flags)                # its JSON; ends the bench if it fails
    ask("plan", ..., none_if=INFEASIBLE)       # None where there is no answer
"""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OMNIBAL = ROOT / os.environ.get("OMNIBAL_PROGRAM", "build/release/bin/omnibal")
WRONG_USAGE, INFEASIBLE = 2, 4  # exit statuses


def ask(*arguments, none_if=None):
    done = subprocess.run([str(OMNIBAL), *map(str, arguments), "--json", "--quiet"],
                          capture_output=True, text=True)
    if done.returncode == none_if:
        return None
    if done.returncode != 0:
        sys.exit(f"failed: omnibal {' '.join(map(str, arguments))}\n{done.stderr}")
    return json.loads(done.stdout)


def plan(corpus, model, cluster, *flags, none_if=None):
    return ask("plan", corpus, "--model", model, "--cluster", cluster, *flags, "--dry-run",
               none_if=none_if)


def gpu_days_of(answer):
    return {row["name"]: row["gpu_days"] for row in answer["ablation"]}


def days(gpu_days):
    """One decimal; three digits where that would hide a short epoch."""
    return f"{gpu_days:.1f}" if gpu_days >= 10 else f"{gpu_days:.3g}"


def relative(ours, paper):
    return f"{100 * (ours / paper - 1):+.1f} %"


def table(columns, rows):
    print(f"\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |", flush=True)
