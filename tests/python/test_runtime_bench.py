# SPDX-License-Identifier: Apache-2.0
"""The bench of training speed in its small form: both sides run the same steps."""
import os
import re
import subprocess
import sys

import pytest

from conftest import ROOT

pytest.importorskip("torch")
pytest.importorskip("transformers")

OURS = (ROOT / os.environ.get("OMNIBAL_BENCH_TRAINING_SPEED", "build/runtime/bin/bench_training_speed")).resolve()


@pytest.mark.skipif(not OURS.exists(), reason="the bench is not built (preset runtime)")
def test_ours_and_transformers_have_the_same_losses(tmp_path):
    done = subprocess.run([sys.executable, ROOT / "bench/training_speed/measure.py", tmp_path, "--quick"],
                          capture_output=True, text=True, timeout=600,
                          env={**os.environ, "OMNIBAL_BENCH_TRAINING_SPEED": str(OURS)})
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^\| (packed|one sample) \| (\w+) \| ([\d.]+) \| ([\d.]+) \|", done.stdout, re.M)
    assert [row[:2] for row in rows] == [(name, kind) for name in ("packed", "one sample")
                                         for kind in ("fp32", "bf16")]
    for _, kind, ours, theirs in rows:
        assert float(ours) == pytest.approx(float(theirs), rel=1e-5 if kind == "fp32" else 1e-3)
