# SPDX-License-Identifier: Apache-2.0
"""Layers measured on packs of a plan: a profile that partition, plan and simulate read, with the bytes that the
trainer has."""
import json
import shutil
import subprocess

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("torch")
pytest.importorskip("transformers")
for package in ("PIL", "tokenizers", "jinja2", "xxhash"):
    pytest.importorskip(package, reason=f"{package} is not installed (requirements-runtime.txt)")

from conftest import ask  # noqa: E402

import small_training  # noqa: E402
from small_training import train, write_config  # noqa: E402

pytestmark = small_training.NEEDS_PROGRAMS

LAYERS = ["vision.0", "vision.1", "projector", "token_embedding", "llm.0", "llm.1", "head"]
SIZES = ["--gpus", 4, "--tp", 1, "--pp", 2, "--dp", 2, "--global-batch", 16, "--schedule", "1f1b"]


def measure(folder, *arguments):
    """The finished process; never raises on a non-zero exit."""
    return subprocess.run([small_training.TRAINER, "profile", "--config", "train.toml", "--json",
                           *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=300)


def refused(folder, *arguments):
    done = measure(folder, *arguments)
    assert done.returncode == 2, done.stderr
    return json.loads(done.stdout)["error"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("profile")
    small_training.make_model(folder / "model")
    small_training.make_annotations(folder)
    small_training.scan(folder)
    small_training.plan(folder, *SIZES, "--out", "plan")
    write_config(folder)
    return folder


@pytest.fixture(scope="module")
def measured(folder):
    """(answer, profile)"""
    done = measure(folder, "--out", "profile.json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), json.loads((folder / "profile.json").read_text())


def at(cost, units, tokens, pairs):
    if not isinstance(cost, dict):
        return cost
    return (cost.get("constant", 0) + cost.get("per_vision_unit", 0) * units + cost.get("per_token", 0) * tokens
            + cost.get("per_token_pair", 0) * pairs)


def test_every_layer_has_costs_with_residuals(measured):
    answer, profile = measured
    assert answer["command"] == "profile" and answer["layers"] == 7 and answer["out"] == "profile.json"
    assert answer["micro_batches"] > answer["packs"] > 3 and answer["residual"] < 1
    assert profile["source"] == "measured" and profile["provenance"]["tp"] == "1"
    assert [layer["name"] for layer in profile["layers"]] == LAYERS
    load = profile["load"].values()
    for layer, fit in zip(profile["layers"], answer["fits"]):
        assert fit["name"] == layer["name"] and set(fit["residual"]) < set(fit)
        for key in ("forward_s", "recompute_s"):
            assert fit[key] == pytest.approx(at(layer[key], *load)) and 0 < fit[key] < 1
        assert (at(layer["input_grad_s"], *load) > 0) == (layer["name"] != "vision.0")
        assert at(layer["weight_grad_s"], *load) > 0 or layer["name"] == "token_embedding"
        assert fit["residual"]["boundary_bytes"] < 1e-6
        # How many tokens the head computes logits for depends on how many are supervised.
        assert fit["residual"]["activation_bytes"] < (0.5 if layer["name"] == "head" else 1e-6)


def test_bytes_are_those_of_the_layers(measured):
    _, profile = measured
    layers = {layer["name"]: layer for layer in profile["layers"]}
    assert at(layers["vision.0"]["boundary_bytes"], 1, 0, 0) == pytest.approx(17 * 24 * 4)
    assert at(layers["projector"]["boundary_bytes"], 1, 0, 0) == pytest.approx(4 * 32 * 4)
    assert at(layers["llm.1"]["boundary_bytes"], 0, 1, 1) == pytest.approx(32 * 4)
    assert layers["head"]["boundary_bytes"] == 0
    for before, behind in zip(LAYERS, LAYERS[1:]):
        assert layers[behind]["recomputed_bytes"] == pytest.approx(layers[before]["boundary_bytes"])
    # Per parameter: weight, gradient, and half of two moments.
    assert layers["llm.0"]["static_bytes"] == layers["llm.0"]["parameters"] * (8 + 8 / 2)
    table = 272 * 32
    assert layers["token_embedding"]["static_bytes"] == table * 12
    assert layers["head"]["static_bytes"] == (table + 32) * 12


def test_the_trainer_has_those_bytes(measured, folder):
    """The weights, gradients and states of a rank; and what a recomputing step has on top of them."""
    _, profile = measured
    static = sum(at(layer["static_bytes"], 0, 0, 0) for layer in profile["layers"])
    static -= 272 * 32 * 12  # one rank has one table
    _, rows = train(folder, "--pp", 1, "--steps", 2, "--recompute", "none", np=2)
    resting = rows[1]["peak_bytes"] - rows[1]["activation_bytes"]
    assert resting == pytest.approx(static, rel=0.02)
    packs = np.load(folder / "plan" / "pack_load.npy")
    kept = max(sum(at(layer["activation_bytes"], *map(float, pack)) for layer in profile["layers"])
               for pack in packs)
    # On top come what one layer's backward needs, the batch itself and its gradients.
    assert kept <= rows[1]["activation_bytes"] <= 2 * kept


def test_the_sum_of_layers_is_a_step(measured, folder):
    """Within a factor of 3, whatever else the machine does: of the fastest of some steps."""
    _, profile = measured
    packs = np.load(folder / "plan" / "pack_load.npy").astype(float)
    seconds = [sum(at(layer[key], *pack) for layer in profile["layers"]
                   for key in ("forward_s", "input_grad_s", "weight_grad_s")) for pack in packs]
    (folder / "log.jsonl").unlink(missing_ok=True)
    _, rows = train(folder, "--pp", 1, "--dp", 1, "--steps", 20, "--checkpoint-dir", "again")
    step = 4 * sum(seconds) / len(seconds)  # micro-batches of two ranks
    fastest = min(row["seconds"] for row in rows)
    assert fastest / 3 < step < 3 * fastest


def test_partition_simulate_and_plan_read_it(measured, folder):
    profile = folder / "profile.json"
    answer = ask("partition", profile, "--pp", 2, "--micro-batches", 4)
    assert len(answer["cuts"]) == 1
    simulated = ask("simulate", "--profile", profile, "--cuts", answer["cuts"][0], "--micro-batches", 4,
                    "--schedule", "1f1b")
    assert simulated["makespan_s"] == pytest.approx(answer["makespan_s"], rel=1e-6)
    planned = small_training.plan(folder, *SIZES, "--profile", profile, "--out", "measured")
    assert planned["prediction"]["step_s"] > 0
    ask("verify", folder / "measured")
    _, rows = train(folder, "--plan", "measured", "--checkpoint-dir", "measured-run", "--steps", 2, np=4)
    assert all(row["predicted_s"] > 0 for row in rows)


def test_frozen_parts_have_no_backward(folder):
    done = measure(folder, "--out", "frozen.json", "--optimizer-frozen", '["vision"]', "--precision", "bf16")
    assert done.returncode == 0, done.stderr
    profile = json.loads((folder / "frozen.json").read_text())
    layers = {layer["name"]: layer for layer in profile["layers"]}
    assert [layer["trainable"] for layer in profile["layers"]] == [False] * 2 + [True] * 5
    for name in ("vision.0", "vision.1"):
        assert layers[name]["input_grad_s"] == layers[name]["weight_grad_s"] == 0
        assert layers[name]["activation_bytes"] == 0
        assert layers[name]["static_bytes"] == layers[name]["parameters"] * 2
    assert layers["projector"]["input_grad_s"] == 0
    # bf16 weight, fp32 gradient, half of fp32 master and moments.
    assert layers["llm.0"]["static_bytes"] == layers["llm.0"]["parameters"] * (6 + 12 / 2)
    ask("partition", folder / "frozen.json", "--pp", 2, "--micro-batches", 4)


def test_what_cannot_be_measured_is_refused(folder):
    assert refused(folder)["where"]["key"] == "--out"
    assert refused(folder, "--out", "p.json", "--tp", 2)["where"]["key"] == "tp"
    assert refused(folder, "--out", "p.json", "--np", 2)["where"]["key"] == "--np"
    assert not (folder / "p.json").exists()
    done = measure(folder, "--out", "nowhere/p.json")
    error = json.loads(done.stdout)["error"]
    assert done.returncode != 0 and error["code"] == "write_failed" and "nowhere" in error["where"]["file"]
    done = measure(folder, "--out", "plan")
    assert done.returncode != 0 and json.loads(done.stdout)["error"]["code"] == "would_overwrite"


def test_a_plan_without_packs_cannot_be_measured(folder):
    empty = folder / "empty"
    shutil.copytree(folder / "plan", empty)
    for name, kept in (("pack_offsets", 1), ("pack_samples", 0), ("pack_load", 0), ("supervised", 0)):
        np.save(empty / f"{name}.npy", np.load(empty / f"{name}.npy")[:kept])
    np.save(empty / "steps.npy", np.full_like(np.load(empty / "steps.npy"), -1))
    done = measure(folder, "--plan", "empty", "--out", "empty.json")
    assert done.returncode != 0 and not (folder / "empty.json").exists()
    assert "no pack" in json.loads(done.stdout)["error"]["message"]
