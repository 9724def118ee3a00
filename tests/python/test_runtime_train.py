# SPDX-License-Identifier: Apache-2.0
"""From annotations to a trained model that transformers opens, on one process and on several."""
import json
import os
import shutil
import signal
import struct
import subprocess
import time

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
for package in ("PIL", "tokenizers", "jinja2", "xxhash"):
    pytest.importorskip(package, reason=f"{package} is not installed (requirements-runtime.txt)")

from conftest import PROGRAM, ask  # noqa: E402

import small_training  # noqa: E402
from small_training import train, trainer, write_config  # noqa: E402
from small_trainings import (  # noqa: E402, F401
    ALONE, STEPS, folder, logits_of, losses, one_process, opened, prepared)

pytestmark = small_training.NEEDS_PROGRAMS

def test_the_loss_falls_and_the_log_has_a_row_a_step(one_process):
    _, outcome, rows = one_process
    assert outcome["finished"] and outcome["step"] == STEPS
    assert [row["step"] for row in rows] == list(range(1, STEPS + 1))
    assert losses(rows)[-1] < 0.9 * losses(rows)[0]
    for row in rows:
        assert 0 < row["supervised"] < row["tokens"] <= row["token_capacity"]
        assert row["seconds"] > 0 and row["peak_bytes"] > row["activation_bytes"] > 0
        assert row["predicted_s"] is None  # of another layout than the plan's


def test_the_plan_predicts_its_own_layout(folder):
    _, rows = train(folder, np=4)
    assert all(row["predicted_s"] > 0 for row in rows)
    assert not (folder / "checkpoints" / "status").exists()  # nobody is watched any more


def test_transformers_opens_the_model(one_process, prepared):
    trained, before = opened(one_process[0]), opened(prepared, "model")
    assert not torch.allclose(logits_of(trained), logits_of(before), atol=1e-3)


def test_a_stopped_training_goes_on_as_if_it_had_not_been(one_process, folder):
    _, _, expected = one_process
    outcome, rows = train(folder, *ALONE, "--precision", "fp64", "--steps", 3)
    assert losses(rows) == losses(expected)[:3]
    shutil.rmtree(folder / "checkpoints" / "model")
    outcome, rows = train(folder, *ALONE, "--precision", "fp64")
    assert losses(rows) == losses(expected)
    assert outcome["checkpoint"].endswith(f"step-{STEPS:08}")


@pytest.mark.parametrize("signalled, arguments", [
    (signal.SIGUSR1, ALONE), (signal.SIGTERM, ALONE), (signal.SIGTERM, ["--dp", "1", "--np", "2"])],
    ids=["SIGUSR1", "SIGTERM alone", "SIGTERM to several"])
def test_a_signal_saves_at_the_next_step(folder, signalled, arguments):
    """Through `omnibal train`, which finds omnibal-train."""
    process = subprocess.Popen(
        [PROGRAM, "train", "--config", "train.toml", "--json", "--steps", "100000", *arguments],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, "PATH": f"{small_training.TRAINER.parent}:{os.environ['PATH']}"})
    log = folder / "log.jsonl"
    for _ in range(600):
        if log.exists() and log.read_text().count("\n") > 2:
            break
        time.sleep(0.05)
    process.send_signal(signalled)
    answer, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    outcome = json.loads(answer)
    rows = log.read_text().splitlines()
    assert not outcome["finished"] and outcome["step"] == len(rows) > 2
    assert outcome["checkpoint"].endswith(f"step-{len(rows):08}")
    more = ["--steps", str(len(rows) + 1), *arguments]
    again = trainer(folder, *more)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["step"] == len(rows) + 1
    assert len(log.read_text().splitlines()) == len(rows) + 1


@pytest.mark.parametrize("signalled, told", [(signal.SIGKILL, "signal 9"), (signal.SIGSTOP, "rank 1 is stuck")],
                         ids=["dies", "is stuck"])
def test_a_rank_that_is_gone_ends_all_and_is_named(folder, signalled, told):
    process = subprocess.Popen(
        [small_training.TRAINER, "--config", "train.toml", "--np", "4", "--steps", "100000",
         "--watchdog", "3"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    status = folder / "checkpoints" / "status" / "rank-1"
    for _ in range(600):
        if status.exists() and b"step 3," in status.read_bytes():
            break
        time.sleep(0.01)
    rank = struct.unpack_from("q", status.read_bytes(), 256)[0]
    os.kill(rank, signalled)
    began = time.monotonic()
    _, words = process.communicate(timeout=60)
    assert time.monotonic() - began < 30
    assert process.returncode != 0
    assert told in words
    for other in (0, 2, 3):
        assert f"rank {other} is stuck" not in words and f"rank {other} has died" not in words


def test_in_fp32_and_bf16(one_process, folder):
    _, _, expected = one_process
    _, rows = train(folder, "--precision", "fp32", np=4)
    assert losses(rows) == pytest.approx(losses(expected), rel=1e-5)
    slow = {}
    for precision in ("fp32", "bf16"):
        shutil.rmtree(folder / "checkpoints")
        _, slow[precision] = train(folder, "--precision", precision, "--optimizer-lr", "1e-3", np=4)
    assert losses(slow["bf16"]) == pytest.approx(losses(slow["fp32"]), rel=1e-2)


def test_epochs_end_where_the_plan_does(prepared, folder):
    steps = ask("steps", prepared / "plan")["steps_in_epoch"]
    supervised = ask("stats", prepared / "corpus")
    write_config(folder, epochs=2, **{"optimizer.schedule": "linear"})
    _, rows = train(folder, np=4)
    assert [row["epoch"] for row in rows] == [0] * steps + [1] * steps
    tokens = [sum(row["tokens"] for row in rows if row["epoch"] == epoch) for epoch in (0, 1)]
    assert tokens == [supervised["tokens"]["total"]] * 2
    last = rows[-1]["lr"] / 1e-2
    assert last == pytest.approx(1 / (2 * steps))


def test_the_recomputation_of_the_plan_is_run(prepared, folder):
    (folder / "plan").unlink()
    planned = small_training.plan(
        folder, "--gpus", 2, "--tp", 1, "--pp", 2, "--dp", 1, "--global-batch", 16, "--schedule", "1f1b",
        "--recompute-choices", "selective", "--memory", "700kB", "--out", "plan")
    assert planned["recompute"] and {"mlp", "attention+mlp"} <= set(planned["recompute_choice"].values())
    _, rows = train(folder, np=2)
    shutil.rmtree(folder / "checkpoints")
    _, keeping = train(folder, "--recompute", "none", np=2)
    assert losses(rows) == losses(keeping)
    for row, other in zip(rows, keeping):
        assert row["activation_bytes"] < other["activation_bytes"]
        assert row["predicted_s"] and other["predicted_s"] is None


def test_an_unreadable_picture_ends_the_training_and_is_named(prepared, tmp_path):
    shutil.copytree(prepared, tmp_path / "all")
    folder = tmp_path / "all"
    small_training.scan(folder)  # pictures are of the copy
    small_training.plan(folder, "--gpus", 2, "--tp", 1, "--pp", 2, "--dp", 1, "--global-batch", 16,
                        "--schedule", "1f1b", "--out", "plan")
    write_config(folder)
    (folder / "2.png").write_bytes((folder / "2.png").read_bytes()[:300])
    done = trainer(folder, np=2)
    assert done.returncode == 3
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "malformed_image" and error["where"]["file"].endswith("2.png")


def answers_of(model, folder):
    """Loss per supervised token and share of exact answers, by transformers, of text-only samples."""
    tokens, offsets, supervised = (np.load(folder / "corpus" / f"{name}.npy")
                                   for name in ("token_ids", "token_offsets", "token_supervised"))
    losses, count, exact = 0.0, 0, []
    for begin, end in zip(offsets, offsets[1:]):
        ids = torch.from_numpy(tokens[begin:end].astype(np.int64))[None]
        chosen = torch.from_numpy(supervised[begin:end].astype(bool))[1:]
        with torch.no_grad():
            logits = model(input_ids=ids, use_cache=False).logits[0, :-1]
        targets = ids[0, 1:]
        losses += torch.nn.functional.cross_entropy(logits[chosen], targets[chosen], reduction="sum").item()
        count += int(chosen.sum())
        exact.append(bool((logits.argmax(1) == targets)[chosen].all()))
    return losses / count, sum(exact) / len(exact)


def test_evaluation_is_that_of_transformers(prepared, tmp_path):
    """A model that has learned one of two answers by heart."""
    (tmp_path / "model").symlink_to(prepared / "model")
    rows = [{"conversations": [{"from": "human", "value": "name it" + "!" * (i % 3)},
                               {"from": "gpt", "value": "a" if i % 4 else "no"}]} for i in range(32)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "meta.json").write_text(json.dumps({"set": {"root": ".", "annotation": "rows.jsonl"}}))
    small_training.scan(tmp_path)
    ask("pack", "corpus", "--vision-cap", 6, "--token-cap", 128, "--allow-empty", "--dp", 1,
        "--micro-batches", 2, "--out", "plan", cwd=tmp_path)
    write_config(tmp_path, steps=30, precision="fp32")
    train(tmp_path)
    loss, exact = answers_of(opened(tmp_path).float(), tmp_path)
    assert 0 < exact < 1
    for np_ in (0, 2):
        done = subprocess.run([small_training.TRAINER, "evaluate", "--config", "train.toml", "--model",
                               "checkpoints/model", "--json", *(["--np", str(np_)] if np_ else [])],
                              cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["loss"] == pytest.approx(loss, rel=1e-5)
        assert found["answer_accuracy"] == pytest.approx(exact) and found["samples"] == 32


def test_what_trains_stays_the_same_on_resuming(folder):
    frozen = ["--optimizer-frozen", '["vision"]']
    for first, then in (([], frozen), (frozen, [])):
        shutil.rmtree(folder / "checkpoints", ignore_errors=True)
        train(folder, *ALONE, "--steps", 2, *first)
        done = trainer(folder, *ALONE, *then)
        error = json.loads(done.stdout)["error"]
        assert (done.returncode, error["code"]) == (3, "missing_tensor") and "frozen" in error["message"]


def test_errors_are_told_by_code(folder):
    def refused(*arguments, np=0):
        done = trainer(folder, *arguments, np=np)
        return done.returncode, json.loads(done.stdout)["error"]["code"]
    assert refused() == (2, "sizes_do_not_divide")  # four ranks, one process
    assert refused("--optimizer-lrr", "1") == (2, "invalid_argument")
    assert refused("--model", "nowhere")[0] == 3
    assert refused("--pp", "1", "--dp", "1", "--recompute", "some")[0] == 2
