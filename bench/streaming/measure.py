# SPDX-License-Identifier: Apache-2.0
"""Samples a second, peak memory and quality of `omnibal stream` for more and more samples."""
import json
import pathlib
import sys
import time

import numpy as np

sys.path.insert(0, "tests/reference")
from peak_memory import measured  # noqa: E402

OMNIBAL = "build/release/bin/omnibal"
CAPS = ["--vision-cap", "9", "--token-cap", "4096"]
STEPS = ["--dp", "8", "--micro-batches", "32"]


def write_million(out):
    """A million samples in random order as JSON Lines: a stream repeats it."""
    vision, dummy, tokens = (np.load(out / "corpus" / f"{name}.npy")
                             for name in ("vision", "dummy_vision", "tokens"))
    order = np.random.default_rng(0).permutation(len(tokens))
    real = vision - dummy
    path = out / "million.jsonl"
    with path.open("w") as file:
        for i in order:
            file.write(f'{{"vit_num":{vision[i]},"token_num":{tokens[i]},"image_flags":{real[i]}}}\n')
    return path


def timed(command):
    """Seconds, peak MiB and the answer of a shell command."""
    began = time.perf_counter()
    output, peak_mib = measured(["bash", "-c", command])
    return time.perf_counter() - began, peak_mib, json.loads(output)


def stream(path, millions):
    flags = " ".join(CAPS + STEPS)
    return timed(f"for ((i = 0; i < {millions}; i++)); do cat {path}; done | "
                 f"{OMNIBAL} stream - {flags} --out /dev/null --json --quiet")


def row(name, samples, seconds, peak, answer):
    dist = answer["steps"]["dist_ratio"]
    held = f"{answer['peak']['samples']:,}" if "peak" in answer else "all"
    print(f"{name:<16}{samples:>13,}{seconds:9.1f} s{samples / seconds / 1e6:7.2f} M/s"
          f"{peak:8.0f} MiB{held:>12}{answer['placed'] / answer['packs']:9.3f}"
          f"   {dist['vision']:.4f} / {dist['tokens']:.4f} / {dist['attention']:.4f}", flush=True)


def main():
    out, most = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    path = write_million(out)
    print(f"{'':<16}{'samples':>13}{'':>11}{'':>11}{'peak':>12}{'held':>12}{'a pack':>9}   "
          "imbalance: vision / tokens / attention")
    flags = " ".join(CAPS + STEPS)
    row("pack, isf", 1_000_000,
        *timed(f"{OMNIBAL} pack {path} {flags} --method isf --json --quiet"))
    millions = 1
    while millions * 1_000_000 <= most:
        row("stream", millions * 1_000_000, *stream(path, millions))
        millions *= 10


if __name__ == "__main__":
    main()
