# SPDX-License-Identifier: Apache-2.0
"""Steps of the trainer and of transformers in turns: losses must agree; prints medians and ratios. Whether a goal
is met, the median by the clock says, on a machine that does nothing else."""
import os
import pathlib
import statistics
import subprocess
import sys

import numpy as np
import torch
from safetensors.numpy import save_file
from transformers import (InternVLConfig, InternVLForConditionalGeneration, InternVLVisionConfig,
                          Qwen2Config)
from transformers.utils import logging

HERE = pathlib.Path(__file__).parent
OURS = pathlib.Path(os.environ.get("OMNIBAL_BENCH_TRAINING_SPEED",
                                   HERE.parents[1] / "build/runtime/bin/bench_training_speed"))
OUT = pathlib.Path(sys.argv[1])
QUICK = "--quick" in sys.argv
TOLERANCE = {"fp32": 1e-4, "bf16": 2e-2}  # of the first step's loss
GOALS = {("packed", "fp32"): 1.3, ("packed", "bf16"): 1.3, ("one sample", "fp32"): 0.95,
         ("one sample", "bf16"): 0.90}
ROUNDS = {"fp32": 3, "bf16": 5}  # after one that is not counted
# Freed memory stays with the process, as the trainer's main sets it.
MALLOC = {"MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "2147483647",
          "MALLOC_TOP_PAD_": "67108864"}

if QUICK:
    SIDE, TILE_TOKENS, VOCABULARY, LENGTHS, LAST = 56, 4, 512, [60, 50, 42, 30, 23], 205
    TOWER = dict(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64)
    TEXT = dict(hidden_size=64, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2,
                intermediate_size=128)
    ROUNDS = {"fp32": 2, "bf16": 2}
else:
    SIDE, TILE_TOKENS, VOCABULARY, LENGTHS, LAST = 224, 64, 32000, [600, 500, 420, 300, 228], 2048
    TOWER = dict(hidden_size=256, num_hidden_layers=2, num_attention_heads=4, intermediate_size=1024)
    TEXT = dict(hidden_size=896, num_hidden_layers=2, num_attention_heads=14, num_key_value_heads=2,
                intermediate_size=4864)
IMAGE = VOCABULARY - 1


logging.disable_progress_bar()


def make_model(folder):
    torch.manual_seed(0)
    tower = InternVLVisionConfig(image_size=SIDE, patch_size=14, attention_bias=True, **TOWER)
    model = InternVLForConditionalGeneration(InternVLConfig(
        vision_config=tower, text_config=Qwen2Config(vocab_size=VOCABULARY, **TEXT),
        image_token_id=IMAGE, image_seq_length=TILE_TOKENS))
    model.save_pretrained(folder)
    return sum(parameter.numel() for parameter in model.parameters())


def make_batch(path, lengths, supervised, tiles):
    """Segments whose last part is supervised; the first `tiles` begin with a tile."""
    rng = np.random.default_rng(len(lengths))
    offsets = np.cumsum([0, *lengths]).astype(np.int64)
    ids = rng.integers(0, IMAGE, offsets[-1])
    labels = np.full(offsets[-1], -100)
    for i, (begin, end) in enumerate(zip(offsets, offsets[1:])):
        if i < tiles:
            ids[begin + 1:begin + 1 + TILE_TOKENS] = IMAGE
        first = end - int(supervised * (end - begin))
        labels[first:end - 1] = ids[first + 1:end]
    count = int((labels != -100).sum())
    pixels = rng.standard_normal((tiles, 3, SIDE, SIDE)).astype(np.float32)
    save_file({"ids": ids, "labels": labels, "offsets": offsets, "pixels": pixels,
               "positions": np.concatenate([np.arange(length) for length in lengths]),
               "weights": np.full(offsets[-1], 1 / count, np.float32)}, path)
    return f"{len(lengths)} segments, {offsets[-1]} tokens, {count} supervised, {tiles} tiles"


def start(command):
    return subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True, env={**os.environ, **MALLOC, "OMP_NUM_THREADS": "1",
                                            "HF_HUB_OFFLINE": "1",
                                            "HF_HUB_DISABLE_PROGRESS_BARS": "1"})


def step(process, path):
    """(loss, wall seconds, processor seconds)"""
    process.stdin.write(f"{path}\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        sys.exit(f"{process.args[0]} ended with {process.wait()}")
    return tuple(map(float, line.split()))


def compare(name, dtype, folder, path):
    """Rows of [ours, theirs] x (loss, wall, processor), the first round included."""
    sides = [start([OURS, folder, dtype]), start([sys.executable, HERE / "theirs.py", folder, dtype])]
    try:
        return [[step(side, path) for side in (sides if i % 2 else sides[::-1])][::1 if i % 2 else -1]
                for i in range(1 + ROUNDS[dtype])]
    finally:
        for side in sides:
            side.stdin.close()
            side.wait()


def main():
    folder = OUT / "model"
    print(f"{make_model(folder) / 1e6:.1f} M parameters, AdamW, one thread; torch {torch.__version__}\n")
    batches = {"packed": (LENGTHS, 0.4, len(LENGTHS)), "one sample": ([LAST], 1.0, 0)}
    for name, shape in batches.items():
        print(f"- {name}: {make_batch(OUT / f'{name}.safetensors', *shape)}")
    print("\n| micro-batch | type | loss, ours | loss, theirs | ours: tokens / s | theirs | ratio | "
          "ours by least processor time | theirs | ratio | goal |\n|" + "---|" * 11)
    missed = []
    for name, (lengths, _, _) in batches.items():
        for dtype in ("fp32", "bf16"):
            rows = compare(name, dtype, folder, OUT / f"{name}.safetensors")
            ours, theirs = rows[0][0][0], rows[0][1][0]
            if not abs(ours - theirs) <= TOLERANCE[dtype] * abs(theirs):
                sys.exit(f"{name}, {dtype}: the losses of the first step differ: {ours} and {theirs}")
            cells, ratios = [], []
            for clock, choose in ((1, statistics.median), (2, min)):
                ms, hf = (sum(lengths) / choose(row[side][clock] for row in rows[1:]) for side in (0, 1))
                ratios.append(ms / hf)
                cells.append(f"{ms:.0f} | {hf:.0f} | {ms / hf:.2f}")
            goal = GOALS[name, dtype]
            print(f"| {name} | {dtype} | {ours:.6f} | {theirs:.6f} | {' | '.join(cells)} | {goal} |", flush=True)
            if ratios[0] < goal:
                missed.append(f"{name}, {dtype}")
    if missed and not QUICK:
        sys.exit(f"below the goal: {'; '.join(missed)}")


main()
