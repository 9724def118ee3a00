# SPDX-License-Identifier: Apache-2.0
"""Seconds and peak memory of `omnibal pack` and `omnibal plan`, and of ISF in plain Python."""
import json
import pathlib
import resource
import subprocess
import sys
import time

import numpy as np

sys.path.insert(0, "tests/reference")
from isf import isf  # noqa: E402

OMNIBAL = "build/release/bin/omnibal"
CAPS = ["--vision-cap", "9", "--token-cap", "4096"]
MODEL = ["--model", "internvl-chat-1.5-26b", "--cluster", "a100-80g", "--gpus", "64", "--tp", "2",
         "--pp", "4"]


def timed(arguments):
    began = time.perf_counter()
    done = subprocess.run([OMNIBAL, *arguments, "--json", "--quiet"], check=True,
                          capture_output=True, text=True)
    return time.perf_counter() - began, json.loads(done.stdout)


def main():
    out = pathlib.Path(sys.argv[1])
    vision = np.load(out / "corpus" / "vision.npy").tolist()
    tokens = np.load(out / "corpus" / "tokens.npy").tolist()
    pack_s, packed = timed(["pack", out / "corpus", *CAPS, "--threads", "1", "--out", out / "data"])
    plan_s, planned = timed(["plan", out / "corpus", *MODEL, *CAPS, "--out", out / "plan"])
    peak_mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
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
