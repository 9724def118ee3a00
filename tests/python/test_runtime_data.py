# SPDX-License-Identifier: Apache-2.0
"""What omnibal-scan prepares and a plan packs, as the trainer is fed it, against the annotations and
the image processor of transformers."""
import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT

np = pytest.importorskip("numpy")
safetensors = pytest.importorskip("safetensors")
transformers = pytest.importorskip("transformers")
import safetensors.numpy  # noqa: E402
from byte_tokenizer import save_tokenizer  # noqa: E402
from PIL import Image  # noqa: E402
from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import (  # noqa: E402
    GotOcr2ImageProcessorPil)

PROBE = ROOT / os.environ.get("OMNIBAL_DATA_PROBE", "build/runtime/bin/omnibal_data_probe")
pytestmark = pytest.mark.skipif(not PROBE.exists(), reason="the trainer is not built (preset runtime)")

TEMPLATE = ("{% for m in messages %}{{ '<s>' + m['role'] + '\\n' + m['content'] + '</s>\\n' }}{% endfor %}"
            "{% if add_generation_prompt %}{{ '<s>assistant\\n' }}{% endif %}")
SIDE, TILE_TOKENS = 28, 4
PROCESSOR = {"size": {"height": SIDE, "width": SIDE}, "crop_to_patches": True, "min_patches": 1,
             "max_patches": 6, "image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.25, 0.3]}


def make_model(folder):
    tokenizer = save_tokenizer(folder, ["<s>", "</s>", "<img>", "</img>", "<IMG_CONTEXT>"], TEMPLATE)
    for name, content in (
            ("preprocessor_config", dict(PROCESSOR, image_processor_type="GotOcr2ImageProcessor")),
            ("config", {"vision_config": {"patch_size": [14, 14]}, "image_seq_length": TILE_TOKENS})):
        (folder / f"{name}.json").write_text(json.dumps(content))
    return tokenizer


def picture(path, seed, width, height):
    noise = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    Image.fromarray(noise).save(path)


ROWS = [
    ([], [("q", "yes"), ("again", "no, not at all")]),
    (["a.png"], [("<image>\nwhat?", "grün 🙂")]),
    (["b.png", "a.png"], [("<image> and <image>", "both")]),
    (["c.jpg"], [("see <image>", "a longer answer than most")]),
]


@pytest.fixture(scope="module")
def fed(tmp_path_factory):
    """Scans with a relative path, packs from another folder; (tokenizer, folder, packs by mode)."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "model").mkdir()
    tokenizer = make_model(folder / "model")
    for seed, (name, size) in enumerate({"a.png": (60, 30), "b.png": (33, 90), "c.jpg": (28, 28)}.items()):
        picture(folder / name, seed, *size)
    rows = [{"conversations": [{"from": who, "value": text} for turn in turns
                               for who, text in zip(("human", "gpt"), turn)], "image": images}
            for images, turns in ROWS]
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "meta.json").write_text(json.dumps(
        {"set": {"root": ".", "annotation": "rows.jsonl", "repeat_time": 2}}))
    subprocess.run([sys.executable, "-m", "omnibal_scan", "meta.json", "--model", "model", "--out", "out"],
                   check=True, cwd=folder, timeout=120,
                   env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    packs = {}
    for mode in ("token", "sample", "square-root"):
        subprocess.run([PROBE, folder / "out", folder / "model", folder / f"plan-{mode}",
                        folder / f"{mode}.safetensors", "150", mode], check=True, cwd="/", timeout=60)
        packs[mode] = by_pack(safetensors.numpy.load_file(folder / f"{mode}.safetensors"))
    return tokenizer, folder, packs


def by_pack(tensors):
    packs = {}
    for name, values in tensors.items():
        pack, field = name.split("/")
        packs.setdefault(pack, {})[field] = values
    return list(packs.values())


def segments(pack):
    for i, sample in enumerate(pack["samples"]):
        begin, end = pack["segment_offsets"][i:i + 2]
        yield sample, {field: pack[field][begin:end] for field in ("ids", "positions", "labels", "weights")}


def test_every_sample_is_fed_once_and_supervised_where_its_answers_are(fed):
    tokenizer, _, packs = fed
    seen = []
    for pack in packs["token"]:
        for sample, segment in segments(pack):
            seen.append(sample)
            answers = [answer for _, answer in ROWS[sample % len(ROWS)][1]]
            predicted = segment["labels"][segment["labels"] != -100]
            assert tokenizer.decode(predicted.tolist(), skip_special_tokens=False) == \
                "".join(answer + "</s>" for answer in answers)
            assert segment["positions"].tolist() == list(range(len(segment["ids"])))
            follows = np.append(segment["ids"][1:], -100)
            supervised = segment["labels"] != -100
            assert (segment["labels"][supervised] == follows[supervised]).all()
    assert sorted(seen) == list(range(2 * len(ROWS)))
    assert len(packs["token"]) > 2


def test_pixels_are_those_of_transformers(fed):
    _, folder, packs = fed
    processor = GotOcr2ImageProcessorPil(**PROCESSOR)
    for pack in packs["token"]:
        expected = []
        for sample in pack["samples"]:
            images = ROWS[sample % len(ROWS)][0]
            for name in images:
                cap = max(1, PROCESSOR["max_patches"] // len(images))
                done = processor(Image.open(folder / name), max_patches=cap, return_tensors="np")
                expected.append(done["pixel_values"].reshape(-1))
        expected = np.concatenate(expected) if expected else np.zeros(0, np.float32)
        assert pack["pixels"].shape == expected.shape
        assert np.abs(pack["pixels"] - expected).max(initial=0) < 1 / 255


def test_weights_by_mode(fed):
    _, _, packs = fed
    exponent = {"token": 0.0, "sample": -1.0, "square-root": -0.5}
    for mode, made in packs.items():
        for pack in made:
            for _, segment in segments(pack):
                supervised = segment["labels"] != -100
                weight = float(supervised.sum()) ** exponent[mode]
                assert segment["weights"] == pytest.approx(np.where(supervised, weight, 0.0))
