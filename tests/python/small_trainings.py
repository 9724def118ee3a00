# SPDX-License-Identifier: Apache-2.0
"""Fixtures of trainings: a prepared model, corpus and plan; what one process makes of them."""
import pytest
import torch
from transformers import InternVLForConditionalGeneration

import small_training
from small_training import train, write_config

STEPS = 10
ALONE = ["--pp", "1", "--dp", "1"]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Model, corpus and a plan for two pipelines of two ranks each; a divisor of dp runs the same
    packs."""
    folder = tmp_path_factory.mktemp("prepared")
    small_training.make_model(folder / "model")
    small_training.make_annotations(folder)
    small_training.scan(folder)
    small_training.plan(folder, "--gpus", 4, "--tp", 1, "--pp", 2, "--dp", 2, "--global-batch", 16,
                        "--schedule", "1f1b", "--out", "plan")
    return folder


@pytest.fixture
def folder(prepared, tmp_path):
    """The same, with relative links into it, for one training."""
    for name in ("model", "corpus", "plan"):
        (tmp_path / name).symlink_to(prepared / name)
    write_config(tmp_path, steps=STEPS)
    return tmp_path


@pytest.fixture(scope="module")
def one_process(prepared, tmp_path_factory):
    """(folder, outcome, rows) of a training on one process in fp64."""
    folder = tmp_path_factory.mktemp("one")
    for name in ("model", "corpus", "plan"):
        (folder / name).symlink_to(prepared / name)
    write_config(folder, steps=STEPS, precision="fp64")
    return folder, *train(folder, *ALONE)


def losses(rows):
    return [row["loss"] for row in rows]


def opened(folder, name="checkpoints/model"):
    return InternVLForConditionalGeneration.from_pretrained(folder / name, dtype=torch.float64)


def logits_of(model):
    with torch.no_grad():
        return model(input_ids=torch.arange(20)[None], use_cache=False).logits
