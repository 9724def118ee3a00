# SPDX-License-Identifier: Apache-2.0
"""Plans damaged at random, by the hundred: never a crash, a hang or another kind of error."""
import json
import random
import subprocess

import pytest

from conftest import PLAN_FILES, PROGRAM, assign


def expect_a_verdict(plan):
    """verify and simulate answer or refuse: no other exit status, no signal, JSON on stdout."""
    for command in (["verify", plan, "--ignore-checksums"], ["simulate", plan]):
        # Bytes: messages on stderr may quote what is no UTF-8.
        done = subprocess.run([PROGRAM, *command, "--json"], capture_output=True, timeout=60)
        assert done.returncode in (0, 3), (command, done)
        assert isinstance(json.loads(done.stdout), dict)


@pytest.mark.parametrize("name", [name for name in PLAN_FILES if name != "checksums.txt"])
def test_any_damage_is_a_verdict(small_plan_with_rejections, name):
    """Some flips change nothing that is claimed; none may crash or be another kind of error."""
    plan = small_plan_with_rejections
    whole = (plan / name).read_bytes()
    rng = random.Random(name)
    for _ in range(12):
        content = bytearray(whole)
        for _ in range(rng.choice([1, 1, 4, 30])):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        (plan / name).write_bytes(content)
        expect_a_verdict(plan)


ODD_VALUES = [None, True, -1, 0, 1, 0.5, 1e308, -1e-308, 10**12, 2**31, 2**63, 2**64, "", "x", [],
              {}, [[]], [None], {"a": 1}]


def places(value, path=()):
    """Paths of everything inside a document."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, member in entries:
        yield (*path, key)
        if isinstance(member, (dict, list)):
            yield from places(member, (*path, key))


@pytest.mark.parametrize("name", ["plan.json", "profile.json"])
def test_any_odd_value_is_a_verdict(small_plan_with_rejections, name):
    file = small_plan_with_rejections / name
    whole = file.read_text()
    paths = list(places(json.loads(whole)))
    rng = random.Random(name)
    for path in rng.sample(paths, min(len(paths), 100)):
        document = json.loads(whole)
        assign(path, rng.choice(ODD_VALUES))(document)
        file.write_text(json.dumps(document))
        expect_a_verdict(file.parent)
