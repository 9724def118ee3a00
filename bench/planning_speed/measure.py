# SPDX-License-Identifier: Apache-2.0
"""Seconds and peak memory of `omnibal pack` and `omnibal plan`, and of ISF in plain Python."""
import json
import pathlib
import sys
import time

import numpy as np

sys.path.insert(0, "tests/reference")
from isf import isf  # noqa: E402
from peak_memory import measured  # noqa: E402

OMNIBAL = "build/release/bin/omnibal"
CAPS = ["--vision-cap", "9", "--token-cap", "4096"]
MODEL = ["--model", "internvl-chat-1.5-26b", "--cluster", "a100-80g", "--gpus", "64", "--tp", "2",
         "--pp", "4"]


def timed(arguments):
    """Seconds, the answer and peak MiB of a command."""
    began = time.perf_counter()
    output, peak_mib = measured([OMNIBAL, *arguments, "--json", "--quiet"])
    return time.perf_counter() - began, json.loads(output), peak_mib


def main():
    out = pathlib.Path(sys.argv[1])
    vision = np.load(out / "corpus" / "vision.npy").tolist()
    tokens = np.load(out / "corpus" / "tokens.npy").tolist()
    pack_s, packed, _ = timed(["pack", out / "corpus", *CAPS, "--method", "isf", "--threads", "1",
                               "--out", out / "data"])
    plan_s, planned, peak_mib = timed(["plan", out / "corpus", *MODEL, *CAPS, "--out", out / "plan"])
    began = time.perf_counter()
    packs = isf(vision, tokens, 9, 4096)
    python_s = time.perf_counter() - began
    print(f"plain Python ISF, in memory     {python_s:7.2f} s   {len(packs)} packs")
    print(f"omnibal pack, read and written  {pack_s:7.2f} s   {packed['packs']} packs, "
          f"{python_s / pack_s:.0f} times as fast")
    print(f"omnibal plan, read and written  {plan_s:7.2f} s   {planned['steps']['count']} steps of "
          f"the epoch simulated in {len(planned['ablation']) + 1} set-ups; peak {peak_mib:.0f} MiB")


if __name__ == "__main__":
    main()
