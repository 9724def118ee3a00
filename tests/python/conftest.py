# SPDX-License-Identifier: Apache-2.0
"""Runs the program as a user does. OMNIBAL_PROGRAM names it; default: the release build."""
import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = (ROOT / os.environ.get("OMNIBAL_PROGRAM", "build/release/bin/omnibal")).resolve()
SHARED_LENGTHS = ROOT.parent / "shared" / "data" / "lengths"
W_PROFILE = ROOT / "tests" / "data" / "w.json"

# InternVL-Chat-1.5 on 64 A100 as in the paper's ablation.
PAPER_PLAN = ["--model", "internvl-chat-1.5-26b", "--cluster", "a100-80g", "--gpus", "64",
              "--tp", "2", "--pp", "4", "--dp", "8", "--global-batch", "1024",
              "--vision-cap", "9", "--token-cap", "4096"]


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
