# SPDX-License-Identifier: Apache-2.0
"""omnibal stream as a user runs it: pipes, broken input, kill -9 and resume."""
import json
import random
import subprocess
import time

import jsonschema
import pytest

from conftest import PROGRAM, ROOT, ask, refuse, run

FLAGS = ["--vision-cap", 9, "--token-cap", 4096, "--dp", 4, "--micro-batches", 4, "--window", 32,
         "--window-samples", 1500]


def line(rng):
    units = rng.choice([1, 1, 3, 5])
    return json.dumps({"vit_num": units, "token_num": 256 * units + rng.randrange(20, 900),
                       "image_flags": units})


@pytest.fixture(scope="module")
def lengths(tmp_path_factory):
    rng = random.Random(3)
    path = tmp_path_factory.mktemp("stream") / "lengths.jsonl"
    path.write_text("\n".join(line(rng) for _ in range(20000)) + "\n")
    return path


@pytest.fixture(scope="module")
def uninterrupted(lengths, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "steps.jsonl"
    return ask("stream", lengths, *FLAGS, "--out", out), out.read_text()


def test_every_sample_runs_once_in_packs_under_the_caps(lengths, uninterrupted):
    samples = [json.loads(text) for text in lengths.read_text().splitlines()]
    summary, steps = uninterrupted
    seen = []
    for step, text in enumerate(steps.splitlines()):
        document = json.loads(text)
        assert document["step"] == step and len(document["packs"]) == 4
        for packs, loads in zip(document["packs"], document["loads"]):
            assert len(packs) == 4
            for pack, load in zip(packs, loads):
                units = sum(samples[i]["vit_num"] for i in pack)
                tokens = [samples[i]["token_num"] for i in pack]
                assert load == [units, sum(tokens), sum(t * t for t in tokens)]
                assert units <= 9 and sum(tokens) <= 4096
                seen += pack
    assert sorted(seen) == list(range(20000))
    assert summary["placed"] == 20000 and summary["steps"]["count"] == step + 1
    assert summary["peak"]["samples"] <= 2 * 1500
    assert summary["steps"]["dist_ratio"]["tokens"] < 0.02


def test_answer_and_lines_follow_their_schemas(uninterrupted):
    summary, steps = uninterrupted
    answers = json.loads((ROOT / "schemas" / "answers.schema.json").read_text())
    jsonschema.validate(summary, {"$ref": "#/$defs/stream", "$defs": answers["$defs"]})
    schema = json.loads((ROOT / "schemas" / "stream_step.schema.json").read_text())
    for text in steps.splitlines():
        jsonschema.validate(json.loads(text), schema)


def test_a_pipe_gives_the_same_steps(lengths, uninterrupted):
    done = run("stream", "-", *FLAGS, "--out", "-", stdin=lengths.read_text())
    assert done.returncode == 0 and done.stdout == uninterrupted[1]
    assert "20000 of 20000 samples" in done.stderr


def test_a_reader_that_leaves_is_no_crash(lengths):
    command = [str(PROGRAM), "stream", str(lengths), *map(str, FLAGS), "--out", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.wait() == 0
        assert b"nobody reads the steps" in process.stderr.read()


def test_killed_and_resumed_it_goes_on_bit_for_bit(lengths, uninterrupted, tmp_path):
    files = ["--out", tmp_path / "steps.jsonl", "--state", tmp_path / "state", "--save-every", 5]
    command = [str(PROGRAM), "stream", "-", *map(str, FLAGS + files)]
    text = lengths.read_text().splitlines(keepends=True)
    rng = random.Random(4)
    for end in sorted(rng.sample(range(4000, 20000), 3)):
        resume = ["--resume"] if (tmp_path / "state").exists() else []
        with subprocess.Popen(command + resume, stdin=subprocess.PIPE, text=True,
                              stderr=subprocess.DEVNULL) as process:
            process.stdin.write("".join(text[:end]))
            process.stdin.flush()
            time.sleep(rng.uniform(0.02, 0.2))
            process.kill()
    resume = ["--resume"] if (tmp_path / "state").exists() else []
    assert resume, "no state was saved before the kills"
    summary = ask("stream", lengths, *FLAGS, *files, *resume)
    assert (tmp_path / "steps.jsonl").read_text() == uninterrupted[1]
    assert summary["placed"] == 20000


def test_killed_at_random_moments_and_resumed_until_done_nothing_differs(lengths, tmp_path):
    text = lengths.read_text().splitlines(keepends=True)[:4000]
    text[::50] = ['{"vit_num": 1, "token_num": 9000, "image_flags": 1}\n'] * len(text[::50])
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(text))

    def files(name):
        return ["--out", tmp_path / f"{name}-steps", "--rejected", tmp_path / f"{name}-rejected",
                "--state", tmp_path / f"{name}-state", "--save-every", 2]

    whole = ask("stream", rows, *FLAGS, *files("whole"))
    rng = random.Random(7)
    kills = 0
    for attempt in range(1000):
        resume = ["--resume"] if (tmp_path / "killed-state").exists() else []
        command = [PROGRAM, "stream", rows, *FLAGS, *files("killed"), *resume, "--json", "--quiet"]
        with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE) as process:
            try:  # in time it is let through, however slow the machine is
                process.wait(timeout=rng.uniform(0.002, 0.02 * 1.2 ** attempt))
            except subprocess.TimeoutExpired:
                process.kill()
                kills += 1
                continue
            assert process.returncode == 0
            killed = json.loads(process.stdout.read())
            break
    assert kills > 2
    for name in ["steps", "rejected"]:
        assert (tmp_path / f"killed-{name}").read_bytes() == \
            (tmp_path / f"whole-{name}").read_bytes()
    for key in ["samples", "placed", "rejected", "packs", "steps", "fill"]:
        assert killed[key] == whole[key]


def test_a_broken_line_loses_nothing(lengths, uninterrupted, tmp_path):
    text = lengths.read_text().splitlines(keepends=True)
    broken = tmp_path / "broken.jsonl"
    broken.write_text("".join(text[:9000]) + '{"vit_num": 3, "token_num"\n' + "".join(text[9000:]))
    files = ["--out", tmp_path / "steps.jsonl", "--state", tmp_path / "state"]
    error = refuse(3, "stream", broken, *FLAGS, *files)
    assert error["code"] == "malformed_json" and error["where"]["row"] == 9000
    assert "--resume" in error["hint"]
    ask("stream", lengths, *FLAGS, *files, "--resume")
    assert (tmp_path / "steps.jsonl").read_text() == uninterrupted[1]


def test_other_options_do_not_resume(lengths, tmp_path):
    files = ["--out", tmp_path / "steps.jsonl", "--state", tmp_path / "state"]
    ask("stream", lengths, *FLAGS, *files)
    other = [4000 if flag == 4096 else flag for flag in FLAGS]
    error = refuse(3, "stream", lengths, *other, *files, "--resume")
    assert "token_cap" in error["message"]


def test_over_long_samples_are_rejected_and_told(tmp_path):
    rows = [(1, 600, 1), (1, 5000, 1), (12, 3100, 12), (1, 0, 1), (2, 700, 2)]
    path = tmp_path / "l.jsonl"
    path.write_text("".join(json.dumps({"vit_num": v, "token_num": t, "image_flags": f}) + "\n"
                            for v, t, f in rows))
    answer = ask("stream", path, *FLAGS, "--out", tmp_path / "s.jsonl", "--rejected",
                 tmp_path / "r.jsonl")
    assert (answer["samples"], answer["placed"], answer["rejected"]) == (5, 2, 3)
    lines = [json.loads(text) for text in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert [text["reason"] for text in lines] == ["tokens", "vision", "zero_tokens"]


def test_an_empty_stream_is_refused(tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    assert refuse(3, "stream", tmp_path / "empty.jsonl", *FLAGS, "--out",
                  tmp_path / "s.jsonl")["code"] == "empty_input"
