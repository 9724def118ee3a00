# SPDX-License-Identifier: Apache-2.0
"""Packers side by side on the same samples, each in a process of its own; all figures but seconds and
memory are recomputed here in NumPy.

    python measure.py FOLDER [--quick] [--lengths FOLDER]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

from packers import DP, PACKERS, Packing

import balance  # tests/reference, which packers.py put on the path
from peak_memory import measured

ROOT = pathlib.Path(__file__).resolve().parents[2]
OMNIBAL = ROOT / os.environ.get("OMNIBAL_PROGRAM", "build/release/bin/omnibal")
LENGTHS = ROOT.parent / "shared" / "data" / "lengths"
OURS = [("isf", 1), ("best-fit", 1), ("first-fit", 1), ("auto", 1), ("auto", 2)]
REPEATS = 3  # of ours up to 2 M samples: the least seconds count
TIME_LIMIT_S = 600
COLUMNS = ["packer", "samples", "packs", "gap", "over a cap", "cut", "vision", "tokens", "attention",
           "time", "pack s", "steps s", "command s", "MiB", "x isf"]


def omnibal(*arguments, stdin=None):
    """The answer, wall seconds and peak MiB of one command."""
    began = time.perf_counter()
    output, mib = measured([OMNIBAL, *arguments, "--json", "--quiet"], stdin)
    seconds = time.perf_counter() - began
    if output is None:
        sys.exit(f"failed: omnibal {' '.join(map(str, arguments))}")
    return json.loads(output), seconds, mib


class Corpus:
    """Samples in a random order, as a data loader would read them, and the same as our input."""

    def __init__(self, name, folder, inputs):
        self.name, self.folder, self.inputs = name, folder, inputs
        omnibal("pack", *inputs, "--vision-cap", 1 << 20, "--token-cap", 1 << 20, "--rounds", 1,
                "--method", "isf", "--out", folder / "columns")
        vision = np.load(folder / "columns" / "sample_vision.npy")
        order = np.random.default_rng(0).permutation(len(vision))
        self.vision = vision[order].astype(np.uint32)
        self.tokens = np.load(folder / "columns" / "sample_tokens.npy")[order].astype(np.uint32)

    def first(self, count):
        """A file of the first `count` samples for the packers in Python."""
        path = self.folder / f"first-{count}.npz"
        if not path.exists():
            np.savez(path, vision=self.vision[:count], tokens=self.tokens[:count])
        return path


def bound(corpus, count, caps):
    """Of the packs that `count` samples need; the same for every packer."""
    rows = "\n".join(f'{{"vit_num":{v},"token_num":{t},"image_flags":{v}}}' for v, t in
                     zip(corpus.vision[:count].tolist(), corpus.tokens[:count].tolist(), strict=True))
    return omnibal("pack", "-", *cap_flags(caps), "--method", "isf", "--rounds", 1, stdin=rows)[0]["lower_bound"]


def cap_flags(caps):
    return ["--vision-cap", caps[0], "--token-cap", caps[1]]


def random_grid(num_packs):
    """Packs dealt to the ranks as a shuffling sampler does; an incomplete last row is left out."""
    order = np.random.default_rng(0).permutation(num_packs)
    return order[:num_packs // DP * DP].reshape(-1, DP)


def judge(packing, vision, tokens, caps, profile):
    """Figures of packs of (segments of) these samples."""
    first_of_sample = np.zeros(len(packing.samples), dtype=bool)
    first_of_sample[np.unique(packing.samples, return_index=True)[1]] = True
    units = np.where(first_of_sample, vision[packing.samples], 0)  # tiles come first in a sample
    loads = balance.pack_loads(packing.offsets, units, packing.tokens)
    grid = packing.grid if packing.grid is not None else random_grid(len(packing.offsets) - 1)
    placed = np.bincount(packing.samples, weights=packing.tokens, minlength=len(tokens))
    segments = np.bincount(packing.samples, minlength=len(tokens))
    return {"packs": len(packing.offsets) - 1,
            "over": int(((loads.vision > caps[0]) | (loads.tokens > caps[1])).sum()),
            "cut": int((segments > 1).sum()),
            "lost": int((placed < tokens).sum()),
            "dist": balance.dist_ratios(grid, loads, profile)}


def our_runs(corpus, method, threads, caps, folder):
    """The answer of the quickest run, with the least seconds of each part."""
    flags = ["pack", *corpus.inputs, "--method", method, *cap_flags(caps), "--dp", DP, "--threads",
             threads, "--out", folder]
    runs = [omnibal(*flags) for _ in range(REPEATS if len(corpus.tokens) <= 2_000_000 else 1)]
    answer = min((run[0] for run in runs), key=lambda found: found["pack_seconds"])
    return answer, {
        "seconds": min(run[0]["pack_seconds"] - run[0]["step_seconds"] for run in runs),
        "step_seconds": min(run[0]["step_seconds"] for run in runs),
        "command_s": min(run[1] for run in runs), "mib": max(run[2] for run in runs)}


def our_row(corpus, method, threads, caps, profile):
    folder = corpus.folder / "plan"
    answer, figures_of_run = our_runs(corpus, method, threads, caps, folder)
    arrays = {key: np.load(folder / f"{key}.npy") for key in (
        "pack_offsets", "pack_samples", "steps", "sample_vision", "sample_tokens")}
    vision, tokens = arrays["sample_vision"], arrays["sample_tokens"]
    packing = Packing(arrays["pack_offsets"], arrays["pack_samples"],
                      tokens[arrays["pack_samples"]].astype(np.int64), arrays["steps"].reshape(-1, DP))
    figures = judge(packing, vision, tokens, caps, profile)
    for load, ratio in answer["steps"]["dist_ratio"].items():
        assert abs(figures["dist"][load] - ratio) < 1e-9, (load, figures["dist"][load], ratio)
    assert figures["over"] == figures["cut"] == figures["lost"] - answer["rejected"] == 0
    return {"packer": f"omnibal {method}" + (f", {threads} threads" if threads > 1 else ""),
            "samples": len(tokens), "bound": answer["lower_bound"], **figures_of_run, **figures}


def run_packer(corpus, name, count, caps):
    """Seconds and memory, and the packing. Packers that know tokens alone run once for all caps."""
    out = corpus.folder / f"{name} {caps if PACKERS[name].knows_vision else caps[1]}.npz"
    figures = out.with_suffix(".json")
    if not out.exists():
        done = subprocess.run(
            [sys.executable, str(pathlib.Path(__file__).parent / "pack_once.py"), name,
             str(corpus.first(count)), *map(str, caps), str(out)], check=True, timeout=TIME_LIMIT_S,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        figures.write_text(done.stdout.splitlines()[-1])
    return json.loads(figures.read_text()), Packing(**np.load(out))


def peer_row(corpus, name, caps, profile, quick):
    packer = PACKERS[name]
    count = min(len(corpus.tokens), packer.most_samples // (10 if quick else 1))
    try:
        run, packing = run_packer(corpus, name, count, caps)
    except subprocess.TimeoutExpired:
        return {"packer": name, "samples": count, "timeout": True}
    figures = judge(packing, corpus.vision[:count], corpus.tokens[:count], caps, profile)
    whole = (len(corpus.tokens) / count) ** packer.growth
    return {"packer": name, "samples": count, "bound": bound(corpus, count, caps), **figures,
            "seconds": run["seconds"] * whole, "mib": run["mib"],
            "extrapolated": count < len(corpus.tokens)}


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def cells(row, isf_seconds):
    if row.get("timeout"):
        return [row["packer"], f"{row['samples']:,}", f"over {TIME_LIMIT_S} s"] + [""] * 12
    legal = row["over"] == row["cut"] == 0
    about = "about " if row.get("extrapolated") else ""
    seconds = row["seconds"]
    return [row["packer"], f"{row['samples']:,}", f"{row['packs']:,}",
            f"{100 * (row['packs'] / row['bound'] - 1):.2f} %" if legal else "-",
            f"{row['over']:,}", f"{row['cut']:,}",
            *(f"{row['dist'][load]:.4f}" for load in ("vision", "tokens", "attention", "time")),
            about + number(seconds), *(number(row[key]) if key in row else ""
                                       for key in ("step_seconds", "command_s")),
            f"{row['mib']:,.0f}", about + number(seconds / isf_seconds)]


def print_table(corpus, caps, rows):
    isf_seconds = next(row["seconds"] for row in rows if row["packer"] == "omnibal isf")
    print(f"\n### {corpus.name}: {len(corpus.tokens):,} samples, caps {caps[0]} and {caps[1]}\n")
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for row in rows:
        print(f"| {' | '.join(cells(row, isf_seconds))} |", flush=True)
    print_verdict(rows)


def print_verdict(rows):
    """ISF in plain Python and ours, both on one core."""
    ours, plain = (next((row for row in rows if row["packer"] == name), None)
                   for name in ("omnibal isf", "plain Python ISF"))
    if plain and not plain.get("timeout"):
        print(f"\nISF of 50 rounds, one thread: {plain['seconds'] / ours['seconds']:.0f} times as fast "
              f"as plain Python, {ours['seconds']:.3f} s; forming steps {ours['step_seconds']:.3f} s.",
              flush=True)


def compare(corpus, caps, profile, peers, quick):
    rows = [our_row(corpus, method, threads, caps, profile) for method, threads in OURS]
    rows += [peer_row(corpus, name, caps, profile, quick) for name in peers]
    print_table(corpus, caps, rows)


def reference_profile(folder):
    omnibal("profile", "--model", "internvl-chat-1.5-26b", "--cluster", "a100-80g", "--out",
            folder / "profile.json")
    return json.loads((folder / "profile.json").read_text())


def corpora(folder, lengths, quick):
    """(name, inputs, caps of each table) of what there is to pack."""
    both = [(9, 4096), (15, 4096)]
    files = sorted(lengths.glob("*.json"))
    if files:
        yield "the two real length files", files, both
    else:
        print(f"the real length files are left out: {lengths} is not there")
    for samples in [100_000] if quick else [1_000_000, 10_000_000]:
        corpus = folder / f"internvl-{samples}"
        omnibal("synth", "--preset", "internvl-1.2m", "--samples", samples, "--out", corpus)
        yield "internvl-1.2m", [corpus], both[1:] if quick else both


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help="smaller sets, about a minute")
    parser.add_argument("--lengths", type=pathlib.Path, default=LENGTHS,
                        help="folder of OmniBal length lists")
    parser.add_argument("--only", nargs="*", default=list(PACKERS), help="these other packers alone")
    options = parser.parse_args()
    profile = reference_profile(options.folder)
    for number, (name, inputs, all_caps) in enumerate(
            corpora(options.folder, options.lengths, options.quick)):
        place = options.folder / str(number)
        place.mkdir()
        corpus = Corpus(name, place, inputs)
        for caps in all_caps:
            compare(corpus, caps, profile, options.only, options.quick)


if __name__ == "__main__":
    main()
