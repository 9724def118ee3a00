# SPDX-License-Identifier: Apache-2.0
"""omnibal stream and its files: inputs that go on or are no files, outputs that are something else.

Each test was a loss or a wrong answer once."""
import json
import os
import shutil
import subprocess
import threading

import pytest

from conftest import PROGRAM, ask, refuse, run

CAPS = ["--vision-cap", 9, "--token-cap", 4096]
SMALL = [*CAPS, "--dp", 3, "--micro-batches", 1, "--window-samples", 8, "--window", 1]


def line(units=9, tokens=4096, **more):
    return json.dumps({"vit_num": units, "token_num": tokens, "image_flags": units, **more}) + "\n"


def ids_of(path):
    return [sample for text in path.read_text().splitlines()
            for row in json.loads(text)["packs"] for pack in row for sample in pack]


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(line() * 200)
    return path


def test_an_input_that_continues_gives_its_samples_ids_of_their_own(tmp_path):
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    first.write_text(line() * 100 + "bad\n")
    second.write_text(line())
    files = ["--out", tmp_path / "steps", "--state", tmp_path / "state"]
    assert refuse(3, "stream", first, *SMALL, *files)["where"]["row"] == 100
    ask("stream", second, *SMALL, *files, "--resume", "--input-continues")
    assert sorted(ids_of(tmp_path / "steps")) == list(range(101))


@pytest.mark.parametrize("cut", [1, 7, 8, 20, 33])
def test_an_input_in_two_parts_is_drawn_from_like_one(tmp_path, cut):
    lines = [line(1 + i % 3, 300 + 97 * i % 1500, weight=i % 4 * 0.45) for i in range(40)]
    parts = {"whole": lines, "first": [*lines[:cut], "bad\n"], "second": lines[cut:]}
    for name, text in parts.items():
        (tmp_path / name).write_text("".join(text))
    ask("stream", tmp_path / "whole", *SMALL, "--seed", 3, "--out", tmp_path / "expected")
    files = ["--seed", 3, "--out", tmp_path / "steps", "--state", tmp_path / "state"]
    refuse(3, "stream", tmp_path / "first", *SMALL, *files)
    document = json.loads((tmp_path / "state" / "stream.json").read_text())
    assert document["notes"]["input"]["rows"] == cut
    ask("stream", tmp_path / "second", *SMALL, *files, "--resume", "--input-continues")
    assert (tmp_path / "steps").read_text() == (tmp_path / "expected").read_text()


@pytest.mark.parametrize("flags", [
    ["--out", "rows.jsonl"],
    ["--out", "link"],
    ["--out", "hard"],
    ["--out", "steps", "--rejected", "rows.jsonl"],
    ["--out", "../steps", "--state", "."],
    ["--out", "state/steps", "--state", "state"],
    ["--out", "steps", "--rejected", "steps"],
    ["--out", "steps", "--rejected", "./to-steps"],
    ["--out", "-", "--rejected", "-"],
])
def test_no_file_is_two_things(rows, tmp_path, flags):
    before = rows.read_bytes()
    (tmp_path / "link").symlink_to("rows.jsonl")
    (tmp_path / "to-steps").symlink_to("steps")
    os.link(rows, tmp_path / "hard")
    done = run("stream", "rows.jsonl", *CAPS, *flags, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert rows.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "hard", "link", "rows.jsonl", "to-steps"]


def test_standard_input_is_compared_as_the_file_that_it_is(rows):
    before = rows.read_bytes()
    with rows.open() as file:
        done = subprocess.run([str(PROGRAM), "stream", "-", *map(str, CAPS), "--out", str(rows)],
                              stdin=file, capture_output=True, check=False)
    assert done.returncode == 2 and rows.read_bytes() == before


def test_the_lists_of_a_wrapper_are_inputs_too(rows, tmp_path):
    before = rows.read_bytes()
    (tmp_path / "w.json").write_text(json.dumps({"a": {"token_lengths": "rows.jsonl"}}))
    assert refuse(2, "stream", tmp_path / "w.json", *CAPS, "--out", rows)["where"]["key"] == "out"
    assert rows.read_bytes() == before


def test_what_cannot_begin_leaves_the_steps_of_before(rows, tmp_path):
    steps = tmp_path / "steps"
    steps.write_text("precious")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "x").write_text("x")
    (tmp_path / "bad.jsonl").write_text("bad\n")
    for code, source, flags in [
            (3, tmp_path / "nofile.jsonl", []),
            (3, tmp_path / "bad.jsonl", []),
            (1, rows, ["--state", tmp_path / "foreign"]),
            (1, rows, ["--rejected", tmp_path / "none" / "rejected"]),
            (3, rows, ["--state", tmp_path / "state", "--resume"])]:
        refuse(code, "stream", source, *CAPS, "--out", steps, *flags)
        assert steps.read_text() == "precious"
    assert not (tmp_path / "state").exists()


def saved_before_the_first_step(tmp_path, rows, *flags):
    """A state that knows nothing of its files but that they are empty."""
    broken = tmp_path / "broken.jsonl"
    broken.write_text("".join(rows) + "bad\n")
    refuse(3, "stream", broken, *CAPS, "--out", tmp_path / "steps", "--state", tmp_path / "state",
           *flags)
    assert (tmp_path / "steps").read_text() == ""


def test_a_file_that_the_state_did_not_write_is_not_replaced(rows, tmp_path):
    other = tmp_path / "other"
    saved_before_the_first_step(tmp_path, [line()] * 3)
    (tmp_path / "others.jsonl").write_text(line(3, 700) * 50)
    ask("stream", tmp_path / "others.jsonl", *CAPS, "--out", other)  # steps, but of another stream
    before = other.read_text()
    shutil.copytree(tmp_path / "state", tmp_path / "kept")
    error = refuse(3, "stream", rows, *CAPS, "--out", other, "--state", tmp_path / "state",
                   "--resume")
    assert error["code"] == "checksum_mismatch" and error["where"]["file"] == str(other)
    assert other.read_text() == before
    ask("stream", rows, *CAPS, "--out", tmp_path / "steps", "--state", tmp_path / "state",
        "--resume")
    assert sorted(ids_of(tmp_path / "steps")) == list(range(200))
    # What a killed run had written before its first save is its own.
    killed = (tmp_path / "steps").read_text()
    (tmp_path / "steps").write_text(killed[:len(killed) // 2])
    ask("stream", rows, *CAPS, "--out", tmp_path / "steps", "--state", tmp_path / "kept",
        "--resume")
    assert (tmp_path / "steps").read_text() == killed


def test_a_list_of_rejected_samples_cannot_begin_in_the_middle(tmp_path):
    given = [line(), line(1, 5000)]
    saved_before_the_first_step(tmp_path, given)
    whole = tmp_path / "whole.jsonl"
    whole.write_text("".join(given) + line() * 5)
    files = ["--out", tmp_path / "steps", "--state", tmp_path / "state", "--resume"]
    error = refuse(3, "stream", whole, *CAPS, *files, "--rejected", tmp_path / "rejected")
    assert error["code"] == "conflicting_keys" and error["where"]["key"] == "rejected"
    assert not (tmp_path / "rejected").exists()
    done = run("stream", whole, *CAPS, *files)
    assert done.returncode == 0
    assert f"1 rejected: tokens 5000 > 4096 ({tmp_path / 'broken.jsonl'} row 1)" in done.stdout


def test_an_error_names_the_file(tmp_path):
    path = tmp_path / "in3.jsonl"
    path.write_text(line() * 2 + line(10, 700))
    error = refuse(3, "stream", "in3.jsonl", *CAPS, "--out", "steps", "--over-long", "error",
                   cwd=tmp_path)
    assert error["where"] == {"file": "in3.jsonl", "row": 2, "key": "vit_num"}


def test_samples_that_are_changed_before_they_are_packed_are_others(rows, tmp_path):
    saved_before_the_first_step(tmp_path, [line()] * 3)
    error = refuse(3, "stream", rows, *CAPS, "--out", tmp_path / "steps", "--state",
                   tmp_path / "state", "--resume", "--dummy")
    assert error["where"]["key"] == "options.dummy"


def test_a_pipe_with_a_name_is_read_by_stream_alone(rows, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(rows.read_bytes()))
    writer.start()
    ask("stream", pipe, *CAPS, "--out", tmp_path / "piped")
    writer.join()
    ask("stream", rows, *CAPS, "--out", tmp_path / "steps")
    assert (tmp_path / "piped").read_bytes() == (tmp_path / "steps").read_bytes()
    error = refuse(3, "pack", pipe, *CAPS)
    assert error["code"] == "file_unreadable" and "-" in error["hint"]


def test_a_stream_without_a_usable_sample_says_why_as_pack_does(tmp_path):
    path = tmp_path / "long.jsonl"
    path.write_text(line(1, 5000) * 3 + line(12, 700))
    of_stream = refuse(3, "stream", path, *CAPS, "--out", tmp_path / "steps")
    assert of_stream == refuse(3, "pack", path, *CAPS)
    assert of_stream["where"] == {"file": str(path), "row": 0, "key": "token_num"}
