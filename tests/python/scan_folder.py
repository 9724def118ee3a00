# SPDX-License-Identifier: Apache-2.0
"""A data set under construction for omnibal-scan, with the files of a model."""
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from byte_tokenizer import save_tokenizer
from conftest import ROOT
from PIL import Image


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model directory with a byte-level tokenizer, ChatML, and tiles of 56 pixels (4 tokens)."""
    folder = tmp_path_factory.mktemp("model")
    save_tokenizer(folder)
    processor = {"size": {"height": 56, "width": 56}, "min_patches": 1, "max_patches": 12}
    config = {"vision_config": {"patch_size": [14, 14]}, "image_seq_length": 4}
    for name, content in (("preprocessor_config", processor), ("config", config)):
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


class Folder:
    """A data set under construction, and what the scan made of it."""

    def __init__(self, path, model):
        self.path, self.model = path, model
        self.out = path / "out"

    def picture(self, name, width=64, height=48):
        Image.new("RGB", (width, height), (9, 99, 199)).save(self.path / name, format="PNG")

    def run(self, rows, *options, meta=None, env=None):
        text = rows if isinstance(rows, (str, bytes)) else "\n".join(map(json.dumps, rows))
        (self.path / "rows.jsonl").write_bytes(text if isinstance(text, bytes) else text.encode())
        meta = meta or {"set": {"root": ".", "annotation": "rows.jsonl"}}
        (self.path / "meta.json").write_text(json.dumps(meta))
        return subprocess.run(
            [sys.executable, "-m", "omnibal_scan", self.path / "meta.json", "--model", self.model,
             "--out", self.out, "--json", *options], capture_output=True, text=True, timeout=120,
            env={**os.environ, "PYTHONPATH": str(ROOT / "python"), **(env or {})})

    def scan(self, rows, *options, **named):
        done = self.run(rows, *options, **named)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def column(self, name):
        return np.load(self.out / f"{name}.npy")

    def reasons(self):
        lines = (self.out / "rejected.jsonl").read_text().splitlines()
        return {entry["row"]: entry for entry in map(json.loads, lines)}


@pytest.fixture
def folder(tmp_path, model):
    made = Folder(tmp_path, model)
    made.picture("a.png")
    return made


def row(question="q", answer="a", **keys):
    return {"conversations": [{"from": "human", "value": question}, {"from": "gpt", "value": answer}],
            **keys}


def turns(*pairs):
    return {"conversations": [{"from": role, "value": value} for role, value in pairs]}


GOOD = row()
