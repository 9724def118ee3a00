# SPDX-License-Identifier: Apache-2.0
"""Trainings on several processes and in other layouts than the plan's train as one process does."""
import shutil

import pytest

pytest.importorskip("numpy")
pytest.importorskip("torch")
pytest.importorskip("transformers")
for package in ("PIL", "tokenizers", "jinja2", "xxhash"):
    pytest.importorskip(package, reason=f"{package} is not installed (requirements-runtime.txt)")

from conftest import ask  # noqa: E402

import small_training  # noqa: E402
from small_training import train, write_config  # noqa: E402
from small_trainings import ALONE, folder, losses, one_process, opened, prepared  # noqa: E402, F401

pytestmark = small_training.NEEDS_PROGRAMS


@pytest.mark.parametrize("np, flags", [
    (2, ["--dp", 1]), (4, ["--dp", 1, "--pp", 4]), (2, ["--pp", 1]), (2, [*ALONE, "--tp", 2]),
    (2, ["--dp", 1, "--schedule", "zb-h1", "--recompute", "full"]), (4, ["--schedule", "zb-v"]), (4, [])],
    ids=["pp2", "pp4", "dp2", "tp2", "zb-h1", "zb-v x dp2", "pp2xdp2"])
def test_processes_train_as_one(one_process, folder, np, flags):
    _, _, expected = one_process
    outcome, rows = train(folder, "--precision", "fp64", *flags, np=np)
    assert losses(rows) == pytest.approx(losses(expected), rel=1e-12)
    assert outcome["model"] == "checkpoints/model"
    one, several = opened(one_process[0]), opened(folder)
    for name, weight in one.state_dict().items():
        difference = (several.state_dict()[name] - weight).norm()
        assert difference <= 1e-9 * weight.norm() + 1e-12, name


@pytest.mark.parametrize("first, second, np1, np2", [
    ([], ["--dp", 1], 4, 2), (["--dp", 1], [*ALONE, "--tp", 2], 2, 2), (["--dp", 1], ["--dp", 1, "--pp", 4], 2, 4)],
    ids=["dp 2 to dp 1", "pp 2 to tp 2", "pp 2 to pp 4"])  # C07
def test_a_training_goes_on_in_another_layout(one_process, folder, first, second, np1, np2):
    _, _, expected = one_process
    train(folder, "--precision", "fp64", "--steps", 3, *first, np=np1)
    _, rows = train(folder, "--precision", "fp64", *second, np=np2)
    assert losses(rows) == pytest.approx(losses(expected), rel=1e-12)


def test_four_replicas_go_on_as_two(folder):
    small_training.plan(folder, "--gpus", 4, "--tp", 1, "--pp", 1, "--dp", 4, "--global-batch", 16, "--out", "plan4")
    flags = ["--plan", "plan4", "--precision", "fp64", "--steps", 5]
    _, expected = train(folder, *flags, "--dp", 1)
    shutil.rmtree(folder / "checkpoints")
    train(folder, *flags[:-1], 2, np=4)
    _, rows = train(folder, *flags, "--dp", 2, np=2)
    assert losses(rows) == pytest.approx(losses(expected), rel=1e-12)


def test_processes_train_as_one_in_fp32(folder):
    flags = ["--precision", "fp32", "--optimizer-lr", "1e-3"]
    _, expected = train(folder, *flags, *ALONE)
    one = opened(folder).state_dict()
    for processes, layout in ((2, ["--dp", 1]), (2, [*ALONE, "--tp", 2]), (4, [])):
        shutil.rmtree(folder / "checkpoints")
        _, rows = train(folder, *flags, *layout, np=processes)
        assert losses(rows) == pytest.approx(losses(expected), rel=1e-5)
        several = opened(folder).state_dict()
        difference = sum((several[name] - weight).norm() ** 2 for name, weight in one.items()) ** 0.5
        assert difference <= 1e-5 * sum(weight.norm() ** 2 for weight in one.values()) ** 0.5


def test_on_ranks_that_do_not_divide_a_step_every_pack_runs_once(prepared, folder):
    total = ask("stats", prepared / "corpus")["tokens"]["total"]
    write_config(folder, epochs=2, precision="fp64")
    three = ["--pp", 1, "--dp", 3]
    _, rows = train(folder, *three, np=3)
    tokens = [sum(row["tokens"] for row in rows if row["epoch"] == epoch) for epoch in (0, 1)]
    assert tokens == [total] * 2 and rows[-1]["epoch"] == 1
    shutil.rmtree(folder / "checkpoints")
    outcome, _ = train(folder, "--steps", 2, np=4)  # as planned, and on three ranks from there
    assert outcome["step"] == 2
    outcome, moved = train(folder, *three, np=3)
    assert outcome["finished"] and moved[-1]["step"] == len(moved)
    tokens = [sum(row["tokens"] for row in moved if row["epoch"] == epoch) for epoch in (0, 1)]
    assert tokens == [total] * 2
