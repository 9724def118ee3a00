# SPDX-License-Identifier: Apache-2.0
"""The benches that print tables, in their small form: what they say of ours must hold."""
import os
import re
import subprocess
import sys

from conftest import PROGRAM, ROOT


def run(script, folder, *flags):
    done = subprocess.run([sys.executable, str(ROOT / "bench" / script), str(folder), "--quick", *flags],
                          capture_output=True, text=True, cwd=ROOT,
                          env={**os.environ, "OMNIBAL_PROGRAM": str(PROGRAM)})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_partition_puts_joint_first_on_w(tmp_path):
    text = run("partition/measure.py", tmp_path, "--only", "omnibal")
    joint = re.findall(r"omnibal joint \| [\d.,]+ \| ([\d.,]+)", text)
    bmp = re.findall(r"omnibal bmp[^|]*\| [\d.,]+ \| ([\d.,]+)", text)
    assert joint == ["3,244.2", "6,444.0"]
    assert all(float(b.replace(",", "")) >= float(j.replace(",", "")) for j, b in zip(joint, bmp))


def test_paper_tables_print_all_four_and_the_predictions(tmp_path):
    text = run("paper_tables/tables.py", tmp_path)
    for title in ("Table 1", "Table 2", "Table 3", "Table 4", "Beyond the paper", "Predictions"):
        assert f"### {title}" in text
    assert "| +memory |" in text and "fitted: 163 TFLOP/s" in text
