# SPDX-License-Identifier: Apache-2.0
"""The trainer's log as events: every number of every row, read back from the files."""
import json
import os
import struct
import subprocess
import sys

import pytest
from conftest import ROOT

pytest.importorskip("tensorboardX", reason="tensorboardX is not installed (requirements-runtime.txt)")
from tensorboardX.proto.event_pb2 import Event  # noqa: E402

ROWS = [{"step": 1, "loss": 5.5, "tokens": 120, "token_capacity": 240, "seconds": 0.5, "predicted_s": None,
         "tiles": 3, "tile_capacity": 12},
        {"step": 2, "loss": 4.25, "tokens": 200, "token_capacity": 240, "seconds": 0.25, "predicted_s": 0.2,
         "tiles": 0, "tile_capacity": 0}]


def convert(log, out, *arguments):
    return subprocess.run([sys.executable, "-m", "omnibal_tensorboard", log, "--out", out, *arguments],
                          capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python")})


def scalars_in(folder):
    """{(tag, step): (value, wall time)} of the records: length, its checksum, bytes, their checksum."""
    found = {}
    for path in folder.iterdir():
        data, place = path.read_bytes(), 0
        while place < len(data):
            length, = struct.unpack_from("<Q", data, place)
            event = Event.FromString(data[place + 12:place + 12 + length])
            place += 12 + length + 4
            for value in event.summary.value:
                found[value.tag, event.step] = value.simple_value, event.wall_time
    return found


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def test_every_number_of_every_row(log, tmp_path):
    done = convert(log, tmp_path / "runs", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"command": "tensorboard", "steps": 2, "out": str(tmp_path / "runs")}
    found = scalars_in(tmp_path / "runs")
    for row in ROWS:
        for key, value in row.items():
            if key != "step" and value is not None:
                assert found[key, row["step"]][0] == pytest.approx(value)
    assert ("predicted_s", 1) not in found and ("tile_fill", 2) not in found
    assert found["tokens_per_s", 1] == (240, 0.5) and found["padded_tokens_per_s", 2] == (960, 0.75)
    assert found["tile_fill", 1][0] == 0.25 and found["measured_over_predicted", 2][0] == 1.25


def test_a_line_that_is_still_written_is_left_out(log, tmp_path):
    log.write_text(log.read_text() + '{"step": 3, "lo')
    done = convert(log, tmp_path / "runs")
    assert done.returncode == 0 and "unfinished line" in done.stdout
    assert {step for _, step in scalars_in(tmp_path / "runs")} == {1, 2}


@pytest.mark.parametrize("content, code", [("", "empty_input"), ("{no json}\n", "malformed_json"),
                                           ('{"loss": 1}\n', "missing_key"), ("[1]\n", "missing_key")])
def test_what_is_no_log_is_told(tmp_path, content, code):
    (tmp_path / "log.jsonl").write_text(content)
    done = convert(tmp_path / "log.jsonl", tmp_path / "runs", "--json")
    assert done.returncode == 3 and json.loads(done.stdout)["error"]["code"] == code
    assert not (tmp_path / "runs").exists()


def test_nothing_is_overwritten(log, tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "mine").write_text("precious")
    done = convert(log, tmp_path / "runs", "--json")
    assert done.returncode == 1 and json.loads(done.stdout)["error"]["code"] == "would_overwrite"
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["mine"]
    assert convert(tmp_path / "none.jsonl", tmp_path / "new").returncode == 3
