# SPDX-License-Identifier: Apache-2.0
"""A small InternVL of transformers with a tokenizer, annotations and pictures: what is trained in
tests of the whole way from annotations to a model that transformers opens."""
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import torch
from byte_tokenizer import save_tokenizer
from conftest import PROGRAM, ROOT, ask
from PIL import Image
from transformers import (InternVLConfig, InternVLForConditionalGeneration, InternVLVisionConfig,
                          Qwen2Config)

TRAINER = (ROOT / os.environ.get("OMNIBAL_TRAINER", "build/runtime/bin/omnibal-train")).resolve()
NEEDS_PROGRAMS = [
    pytest.mark.skipif(not TRAINER.exists(), reason="the trainer is not built (preset runtime)"),
    pytest.mark.skipif(not PROGRAM.exists(), reason="omnibal is not built (preset release)")]
SIDE, TILE_TOKENS = 28, 4
PROCESSOR = {"size": {"height": SIDE, "width": SIDE}, "crop_to_patches": True, "min_patches": 1,
             "max_patches": 4, "image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.25, 0.3],
             "image_processor_type": "GotOcr2ImageProcessor"}


def make_model(folder, tied=True):
    """Into `folder`, which is made."""
    folder.mkdir()
    tokenizer = save_tokenizer(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps(PROCESSOR))
    torch.manual_seed(0)
    tower = InternVLVisionConfig(hidden_size=24, num_hidden_layers=2, num_attention_heads=4,
                                 intermediate_size=40, image_size=SIDE, patch_size=7)
    text = Qwen2Config(hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                       num_key_value_heads=2, intermediate_size=48, vocab_size=272,
                       pad_token_id=None, bos_token_id=None, eos_token_id=None)
    InternVLForConditionalGeneration(InternVLConfig(
        vision_config=tower, text_config=text, image_token_id=tokenizer.token_to_id("<IMG_CONTEXT>"),
        image_seq_length=TILE_TOKENS, tie_word_embeddings=tied)).save_pretrained(folder)


def make_annotations(folder, rows=48):
    """meta.json with rows of no, one and two pictures."""
    rng = np.random.default_rng(0)
    for i in range(4):
        noise = rng.integers(0, 256, (30 + 10 * i, 70 - 12 * i, 3), dtype=np.uint8)
        Image.fromarray(noise).save(folder / f"{i}.png")
    lines = []
    for i in range(rows):
        images = [f"{(i + k) % 4}.png" for k in range(i % 3)]
        question = "<image>\n" * len(images) + "what is it?" + "?" * (i % 7)
        lines.append(json.dumps({"image": images, "conversations": [
            {"from": "human", "value": question},
            {"from": "gpt", "value": "it is " + "abc"[i % 3] * (1 + i % 5)}]}))
    (folder / "rows.jsonl").write_text("\n".join(lines))
    (folder / "meta.json").write_text(json.dumps({"set": {"root": ".", "annotation": "rows.jsonl"}}))


def scan(folder):
    subprocess.run([sys.executable, "-m", "omnibal_scan", "meta.json", "--model", "model",
                    "--out", "corpus"], check=True, cwd=folder, timeout=120,
                   env={**os.environ, "PYTHONPATH": str(ROOT / "python")})


def plan(folder, *options):
    return ask("plan", "corpus", "--model", "model/config.json", "--cluster", "a100-80g",
               "--vision-cap", 6, "--token-cap", 128, *options, cwd=folder)


def write_config(folder, name="train.toml", **changes):
    """train.toml of `folder`; keys of tables as "optimizer.lr"."""
    keys = {"model": "model", "data": "corpus", "plan": "plan", "precision": "fp32",
            "log": "log.jsonl", "optimizer.lr": 1e-2, "optimizer.schedule": "constant",
            "checkpoint.dir": "checkpoints", **changes}
    (folder / name).write_text("".join(f"{key} = {json.dumps(value)}\n"
                                       for key, value in keys.items() if value is not None))
    return folder / name


def trainer(folder, *arguments, np=0):
    """The finished process; never raises on a non-zero exit."""
    words = [TRAINER, "--config", "train.toml", "--json", *arguments]
    if np:
        words += ["--np", np]
    return subprocess.run(list(map(str, words)), cwd=folder, capture_output=True, text=True,
                          timeout=300)


def train(folder, *arguments, np=0):
    """The outcome, and the rows of the log."""
    done = trainer(folder, *arguments, np=np)
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout)
    return outcome, [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True)
    make_model(folder / "model")
    make_annotations(folder)
