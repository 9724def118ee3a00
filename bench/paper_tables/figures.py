# SPDX-License-Identifier: Apache-2.0
"""Plans, and what the tables print numbers with. Whoever imports it finds tests/reference too."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "reference"))
from program import ask  # noqa: E402


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
