# SPDX-License-Identifier: Apache-2.0
"""The trainer's model against transformers: losses, gradients, weights in and out."""
import json
import os
import shutil
import subprocess

import pytest
from conftest import ROOT

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch", reason="torch is not installed (requirements-runtime.txt)")
pytest.importorskip("transformers", reason="transformers is not installed (requirements-runtime.txt)")
import safetensors.torch  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402
from transformers import AutoModelForImageTextToText  # noqa: E402

import small_models  # noqa: E402

PROBE = ROOT / os.environ.get("OMNIBAL_MODEL_PROBE", "build/runtime/bin/omnibal_model_probe")
pytestmark = pytest.mark.skipif(not PROBE.exists(), reason="the trainer is not built (preset runtime)")


def probe(*arguments):
    return subprocess.run([PROBE, *map(str, arguments)], capture_output=True, text=True, timeout=300)


def refused(*arguments):
    """Name of the error and its text."""
    done = probe(*arguments)
    assert done.returncode == 3, (done.returncode, done.stderr)
    name, text = done.stderr.split("\n", 1)
    return name, text


def compute(folder, batches, dtype="f32", recompute="none", options=()):
    """Loss and gradients of each batch, by our model in `folder`."""
    files = []
    for i, batch in enumerate(batches.values()):
        save_file(batch, folder / f"batch{i}.safetensors")
        files += [folder / f"batch{i}.safetensors", folder / f"gradients{i}.safetensors"]
    done = probe("gradients", folder, dtype, recompute, *options, "--", *files)
    assert done.returncode == 0, done.stderr
    losses = [float(line) for line in done.stdout.splitlines()]
    return {name: (loss, safetensors.torch.load_file(path))
            for name, loss, path in zip(batches, losses, files[1::2], strict=True)}


@pytest.fixture(scope="module", params=small_models.MODELS)
def saved(request, tmp_path_factory):
    model = small_models.make_model(request.param)
    folder = tmp_path_factory.mktemp("model")
    model.save_pretrained(folder)
    return model, folder


def assert_gradients(found, expected):
    assert found.keys() == expected.keys()
    largest = max(gradient.norm().item() for gradient in expected.values())
    for name, gradient in expected.items():
        difference = (found[name] - gradient).norm().item()
        norm = gradient.norm().item()
        assert difference <= (1e-4 * norm if norm > 1e-7 * largest else 1e-7 * largest), name


def test_losses_and_gradients_equal_those_of_transformers(saved):
    model, folder = saved
    batches = small_models.make_batches(small_models.unit_tokens(model))
    for name, (loss, gradients) in compute(folder, batches).items():
        expected_loss, expected = small_models.reference(model, batches[name])
        assert abs(loss - expected_loss) <= 1e-5 * expected_loss, name
        assert_gradients(gradients, expected)


def test_a_sample_has_the_same_loss_packed_or_alone(saved):
    model, folder = saved
    samples = list(small_models.make_samples(small_models.unit_tokens(model)).values())
    samples.append(samples[1])  # equal contents in one pack
    together = small_models.pack(samples)
    batches = {}
    for i, sample in enumerate(samples):
        batches[f"alone {i}"] = small_models.pack([sample])
        only = np.zeros_like(together["weights"])
        begin, end = together["offsets"][i:i + 2]
        supervised = (together["labels"][begin:end] != small_models.NO_LABEL).sum()
        only[begin:end] = 1 / supervised
        batches[f"packed {i}"] = {**together, "weights": only}
    losses = {name: loss for name, (loss, _) in compute(folder, batches).items()}
    for i in range(len(samples)):
        assert losses[f"packed {i}"] == pytest.approx(losses[f"alone {i}"], rel=1e-6)


def assert_bit_equal(found, expected):
    for name, (loss, gradients) in expected.items():
        assert found[name][0] == loss
        assert gradients.keys() == found[name][1].keys()
        for key, gradient in gradients.items():
            assert torch.equal(found[name][1][key], gradient), (name, key)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_recomputed_layers_and_deferred_weight_gradients_change_no_bit(saved, dtype):
    model, folder = saved
    batches = small_models.make_batches(small_models.unit_tokens(model))
    plain = compute(folder, batches, dtype)
    assert_bit_equal(compute(folder, batches, dtype, "some"), plain)
    assert_bit_equal(compute(folder, batches, dtype, "full"), plain)
    for part in ("attention", "mlp", "attention+mlp"):
        assert_bit_equal(compute(folder, batches, dtype, part), plain)
    assert_bit_equal(compute(folder, batches, dtype, "attention+mlp", ["deferred"]), plain)
    assert_bit_equal(compute(folder, batches, dtype, "none", ["deferred"]), plain)
    assert_bit_equal(compute(folder, batches, dtype, "full", ["deferred"]), plain)


def test_half_precision_computes_what_transformers_does(saved):
    model, folder = saved
    batches = small_models.make_batches(small_models.unit_tokens(model))
    exact = {name: small_models.reference(model, batch) for name, batch in batches.items()}
    half = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.bfloat16).train()
    for name, (loss, gradients) in compute(folder, batches, "bf16").items():
        their_loss, theirs = small_models.reference(half, batches[name])
        expected_loss, expected = exact[name]
        assert abs(loss - expected_loss) <= 2 * abs(their_loss - expected_loss) + 0.02 * expected_loss

        def error(found):
            return sum((found[key].float() - expected[key]).norm() ** 2 for key in expected) ** 0.5
        assert error(gradients) <= 1.5 * error(theirs), name


def test_nothing_supervised_gives_loss_and_gradients_of_zero(saved):
    model, folder = saved
    batches = small_models.make_batches(small_models.unit_tokens(model))
    packed = batches["packed"]
    silent = {"no label": {**packed, "labels": np.full_like(packed["labels"], small_models.NO_LABEL)},
              "weight zero": {**packed, "weights": np.zeros_like(packed["weights"])}}
    for loss, gradients in compute(folder, silent).values():
        assert loss == 0
        assert all(not gradient.any() for gradient in gradients.values())


def test_micro_batches_that_do_not_fit_are_refused(saved):
    model, folder = saved
    batch = small_models.make_batches(small_models.unit_tokens(model))["packed"]

    def problem(**changes):
        save_file({**batch, **changes}, folder / "batch.safetensors")
        return refused("gradients", folder, "f32", "none", "--", folder / "batch.safetensors",
                       folder / "out.safetensors")

    ids = batch["ids"].copy()
    ids[ids != small_models.IMAGE_TOKEN] = small_models.VOCABULARY
    assert problem(ids=ids)[0] == "out_of_range"
    assert problem(ids=np.zeros_like(ids))[0] == "conflicting_keys"
    assert problem(pixels=batch["pixels"][:-1])[0] == "conflicting_keys"
    assert problem(pixels=batch["pixels"][..., :-1].copy())[0] == "out_of_range"
    assert problem(positions=batch["positions"][:-1].copy())[0] == "out_of_range"
    assert problem(offsets=batch["offsets"][:-1].copy())[0] == "out_of_range"
    assert problem(offsets=np.insert(batch["offsets"], 1, batch["offsets"][1]))[0] == "out_of_range"
