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
