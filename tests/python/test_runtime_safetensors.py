# SPDX-License-Identifier: Apache-2.0
"""The trainer's safetensors against the package of that name, in both directions."""
import json
import os
import random
import subprocess

import pytest
from conftest import ROOT

np = pytest.importorskip("numpy")
safetensors = pytest.importorskip("safetensors",
                                  reason="safetensors is not installed (requirements-runtime.txt)")
import safetensors.numpy  # noqa: E402

PROBE = ROOT / os.environ.get("OMNIBAL_TENSOR_PROBE", "build/runtime/bin/omnibal_tensor_probe")
pytestmark = pytest.mark.skipif(not PROBE.exists(), reason="the trainer is not built (preset runtime)")

DTYPES = [np.bool_, np.uint8, np.int8, np.int16, np.uint16, np.float16, np.int32, np.uint32,
          np.float32, np.float64, np.int64, np.uint64]


def copy(source, target, *shard_bytes):
    return subprocess.run([PROBE, source, target, *map(str, shard_bytes)], capture_output=True,
                          text=True, errors="replace", timeout=60)


def random_tensors(seed, count=30):
    rng = random.Random(seed)
    tensors = {}
    for i in range(count):
        shape = [rng.randint(0, 5) for _ in range(rng.randint(0, 4))]
        values = np.random.default_rng(seed * 100 + i).integers(0, 2, shape)
        tensors[f"layers.{i}.gewicht-ü"] = values.astype(rng.choice(DTYPES))
    return tensors


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert found[name].dtype == values.dtype and found[name].shape == values.shape, name
        assert found[name].tobytes() == values.tobytes(), name


def test_both_directions_in_one_file(tmp_path):
    for seed in range(5):
        tensors = random_tensors(seed)
        source = tmp_path / f"{seed}.safetensors"
        safetensors.numpy.save_file(tensors, source, metadata={"format": "np", "ä": "ö"})
        target = tmp_path / str(seed)
        target.mkdir()
        done = copy(source, target)
        assert done.returncode == 0, done.stderr
        assert os.listdir(target) == ["model.safetensors"]
        assert_equal(safetensors.numpy.load_file(target / "model.safetensors"), tensors)
        with safetensors.safe_open(target / "model.safetensors", "np") as opened:
            assert opened.metadata() == {"format": "pt"}


def test_both_directions_in_shards(tmp_path):
    tensors = random_tensors(9)
    names = sorted(tensors)
    shards = {"model-a.safetensors": names[::2], "model-b.safetensors": names[1::2]}
    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    target.mkdir()
    for file, members in shards.items():
        safetensors.numpy.save_file({name: tensors[name] for name in members}, source / file)
    weight_map = {name: file for file, members in shards.items() for name in members}
    (source / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    done = copy(source, target, 200)
    assert done.returncode == 0, done.stderr
    index = json.loads((target / "model.safetensors.index.json").read_text())
    assert index["metadata"]["total_size"] == sum(values.nbytes for values in tensors.values())
    assert len(set(index["weight_map"].values())) > 2
    found = {}
    for file in set(index["weight_map"].values()):
        found |= safetensors.numpy.load_file(target / file)
    assert_equal(found, tensors)
    assert all(name in safetensors.numpy.load_file(target / file)
               for name, file in index["weight_map"].items())


def test_what_the_package_refuses_is_refused(tmp_path):
    """Random damage to the header: never read where the package reads nothing."""
    rng = random.Random(4)
    good = safetensors.numpy.save(random_tensors(3, count=4))
    header_end = 8 + int.from_bytes(good[:8], "little")
    path = tmp_path / "a.safetensors"
    refused = 0
    for i in range(150):
        damaged = bytearray(good)
        damaged[rng.randrange(header_end)] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged[:rng.randrange(1, len(good))] if i % 10 == 0 else damaged)
        target = tmp_path / str(i)
        target.mkdir()
        done = copy(path, target)
        try:
            expected = safetensors.numpy.load_file(path)
        except Exception:
            refused += 1
            assert done.returncode == 3, (i, done.stderr)
            assert done.stderr.split("\n")[0] in ("malformed_safetensors", "duplicate_name"), i
            continue
        if done.returncode == 0:
            assert_equal(safetensors.numpy.load_file(target / "model.safetensors"), expected)
    assert refused > 100
