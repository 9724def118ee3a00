# SPDX-License-Identifier: Apache-2.0
"""kill -9 at any moment of `pack --out`: the old plan intact or the new one complete."""
import json
import random
import subprocess
import time

import pytest

from conftest import PROGRAM, ask

KILLS = 12


def pack_command(corpus, token_cap, out):
    return [str(PROGRAM), "pack", str(corpus), "--vision-cap", "9", "--token-cap", str(token_cap),
            "--dp", "8", "--micro-batches", "4", "--quiet", "--out", str(out)]


def token_cap_of(plan):
    return json.loads((plan / "plan.json").read_text())["limits"]["token_cap"]


@pytest.fixture(scope="module")
def large_corpus(tmp_path_factory):
    """Large enough that every phase of writing takes a while."""
    directory = tmp_path_factory.mktemp("large") / "corpus"
    ask("synth", "--preset", "internvl-1.2m", "--samples", "300000", "--out", directory)
    return directory


def kill_after(seconds, command):
    process = subprocess.Popen(command)
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return process.returncode


def staging_directories(out):
    return {path.name for path in out.parent.glob(f".{out.name}.omnibal-*")}


def kill_while_writing(seconds, command, out):
    """`seconds` after the new plan's directory has appeared beside the old one."""
    before = staging_directories(out)
    process = subprocess.Popen(command)
    while process.poll() is None and not staging_directories(out) - before:
        time.sleep(0.0005)
    time.sleep(seconds)
    process.kill()
    return process.wait()


def test_a_writer_killed_between_its_files(large_corpus, tmp_path):
    out = tmp_path / "plan"
    subprocess.run(pack_command(large_corpus, 4096, out), check=True)
    rng = random.Random(7)
    killed = 0
    for attempt in range(KILLS):
        before = token_cap_of(out)
        asked = 4097 + attempt
        killed += kill_while_writing(rng.uniform(0, 0.03), pack_command(large_corpus, asked, out),
                                     out) != 0
        assert token_cap_of(out) in (before, asked)
        assert ask("verify", out)["ok"]
    assert killed >= KILLS // 2


def test_a_killed_writer_leaves_the_old_plan_or_the_new(large_corpus, tmp_path):
    out = tmp_path / "plan"
    began = time.monotonic()
    subprocess.run(pack_command(large_corpus, 4096, out), check=True)
    whole_run = time.monotonic() - began
    rng = random.Random(5)
    killed = 0
    for attempt in range(KILLS):
        before = token_cap_of(out)
        asked = 4096 + attempt + 1
        status = kill_after(rng.uniform(0.1, 1.0) * whole_run,
                            pack_command(large_corpus, asked, out))
        killed += status != 0
        if status == 0:
            whole_run /= 2  # the first run was slower than this one: kill earlier
        assert token_cap_of(out) in (before, asked)
        assert ask("verify", out)["ok"]
    assert killed > 0
    subprocess.run(pack_command(large_corpus, 5000, out), check=True)
    assert token_cap_of(out) == 5000
    assert [path.name for path in tmp_path.iterdir()] == ["plan"]  # leftovers are gone


def test_a_writer_killed_on_its_first_plan_leaves_none_or_a_whole_one(large_corpus, tmp_path):
    rng = random.Random(6)
    for attempt in range(6):
        out = tmp_path / f"plan-{attempt}"
        kill_after(rng.uniform(0.05, 0.6), pack_command(large_corpus, 4096, out))
        assert not out.exists() or ask("verify", out)["ok"]
