# SPDX-License-Identifier: Apache-2.0
"""Runs the program as a user does. OMNIBAL_PROGRAM names it; default: the release build."""
import json
import os
import pathlib
import random
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = (ROOT / os.environ.get("OMNIBAL_PROGRAM", "build/release/bin/omnibal")).resolve()
SHARED_LENGTHS = ROOT.parent / "shared" / "data" / "lengths"
W_PROFILE = ROOT / "tests" / "data" / "w.json"

# InternVL-Chat-1.5 on 64 A100 as in the paper's ablation.
PAPER_RUN = ["--model", "internvl-chat-1.5-26b", "--cluster", "a100-80g", "--gpus", "64",
             "--tp", "2", "--pp", "4", "--dp", "8", "--global-batch", "1024",
             "--vision-cap", "9", "--token-cap", "4096"]  # the schedule is open
PAPER_PLAN = ["--schedule", "1f1b", *PAPER_RUN]


PLAN_FILES = ["plan.json", "profile.json", "pack_offsets.npy", "pack_samples.npy", "steps.npy",
         "pack_load.npy", "supervised.npy", "sample_vision.npy", "sample_tokens.npy",
         "sample_source.npy", "sample_row.npy", "step_mix.npy", "rejected.jsonl",
         "checksums.txt"]


def run(*arguments, stdin=None, cwd=None, env=None):
    """The finished process; never raises on a non-zero exit."""
    return subprocess.run([str(PROGRAM), *map(str, arguments)], input=stdin, cwd=cwd,
                          env={**os.environ, **(env or {})}, capture_output=True, text=True,
                          timeout=600)


def ask(*arguments, **options):
    """The JSON answer of a command that must succeed."""
    done = run(*arguments, "--json", **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refuse(code, *arguments, **options):
    """The error object of a command that must fail with exit code `code`."""
    done = run(*arguments, "--json", **options)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert len(done.stderr.splitlines()) <= 10
    return json.loads(done.stdout)["error"]


def write_lengths(path, rows):
    """An OmniBal length list of (vit_num, token_num, image_flags)."""
    path.write_text(json.dumps(
        [{"vit_num": v, "token_num": t, "image_flags": f} for v, t, f in rows]))
    return path


@pytest.fixture(scope="session")
def internvl_corpus(tmp_path_factory):
    """The 1,267,819 generated samples of internvl-1.2m."""
    directory = tmp_path_factory.mktemp("internvl") / "corpus"
    assert ask("synth", "--preset", "internvl-1.2m", "--out", directory)["samples"] == 1267819
    return directory


@pytest.fixture(scope="session")
def small_corpus(tmp_path_factory):
    """20,000 samples of the same distribution."""
    directory = tmp_path_factory.mktemp("small") / "corpus"
    ask("synth", "--preset", "internvl-1.2m", "--samples", "20000", "--out", directory)
    return directory


@pytest.fixture(scope="session")
def small_plan(small_corpus, tmp_path_factory):
    """A complete plan of small_corpus."""
    directory = tmp_path_factory.mktemp("plan") / "plan"
    ask("plan", small_corpus, *PAPER_PLAN, "--out", directory)
    return directory


@pytest.fixture(scope="session")
def rejecting_plan(tmp_path_factory):
    """A complete plan of 243 samples, three of which no pack can hold."""
    directory = tmp_path_factory.mktemp("rejecting")
    rng = random.Random(11)
    rows = [(1 + i % 5, 256 * (1 + i % 5) + rng.randrange(20, 900), 1 + i % 5) for i in range(240)]
    rows[100:100] = [(1, 5000, 1), (12, 3100, 12), (1, 0, 1)]
    lengths = write_lengths(directory / "lengths.json", rows)
    ask("plan", lengths, "--model", "internvit-300m+qwen2.5-0.5b", "--cluster", "a100-80g",
        "--gpus", 8, "--tp", 1, "--pp", 4, "--dp", 2, "--global-batch", 32, "--vision-cap", 9,
        "--token-cap", 4096, "--out", directory / "plan")
    return directory / "plan"


@pytest.fixture
def small_plan_with_rejections(rejecting_plan, tmp_path):
    return shutil.copytree(rejecting_plan, tmp_path / "plan")


def assign(path, value):
    def change(document):
        *parents, key = path
        for parent in parents:
            document = document[parent]
        document[key] = value
    return change
