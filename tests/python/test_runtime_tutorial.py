# SPDX-License-Identifier: Apache-2.0
"""Every command of docs/tutorial-train.md, one after the other."""
import json
import os
import re
import subprocess
import sys

import pytest

for package in ("torch", "transformers", "PIL", "tokenizers", "jinja2", "xxhash"):
    pytest.importorskip(package, reason=f"{package} is not installed (requirements-runtime.txt)")

from conftest import PROGRAM, ROOT  # noqa: E402

import small_training  # noqa: E402

pytestmark = small_training.NEEDS_PROGRAMS


@pytest.fixture
def environment(tmp_path):
    """The programs on the PATH, as they are where they are installed."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "omnibal").symlink_to(PROGRAM)
    (programs / "omnibal-train").symlink_to(small_training.TRAINER)
    (programs / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (programs / "omnibal-scan").write_text(f'#!/bin/sh\nexec {sys.executable} -m omnibal_scan "$@"\n')
    for name in ("python", "omnibal-scan"):
        (programs / name).chmod(0o755)
    return {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "HF_HUB_OFFLINE": "1",
            "PYTHONPATH": str(ROOT / "python")}


def test_the_tutorial_works(tmp_path, environment):
    folder = tmp_path / "training"
    subprocess.run([sys.executable, ROOT / "tests/python/small_training.py", folder], check=True, timeout=60)
    text = (ROOT / "docs/tutorial-train.md").read_text()
    blocks = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 6
    for block in blocks:
        done = subprocess.run(["bash", "-e", "-c", block], cwd=folder, env=environment, timeout=120,
                              capture_output=True, text=True)
        assert done.returncode == 0, (block, done.stdout, done.stderr)
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert rows[-1]["loss"] < rows[0]["loss"] and rows[0]["predicted_s"] > 0
