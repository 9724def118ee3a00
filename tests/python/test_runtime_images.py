# SPDX-License-Identifier: Apache-2.0
"""The trainer's pictures against Pillow and the image processor of transformers."""
import json
import os
import random
import subprocess

import pytest
from conftest import ROOT

np = pytest.importorskip("numpy")
PIL = pytest.importorskip("PIL", reason="Pillow is not installed (requirements-runtime.txt)")
pytest.importorskip("transformers", reason="transformers is not installed (requirements-runtime.txt)")

from PIL import Image, ImageOps  # noqa: E402
from transformers.image_transforms import convert_to_rgb  # noqa: E402
from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import (  # noqa: E402
    GotOcr2ImageProcessorPil)

import image_files  # noqa: E402

PROBE = ROOT / os.environ.get("OMNIBAL_IMAGE_PROBE", "build/runtime/bin/omnibal_image_probe")
pytestmark = pytest.mark.skipif(not PROBE.exists(), reason="the trainer is not built (preset runtime)")

ROWS_FIRST = int(PIL.__version__.split(".")[0]) >= 13  # where that is less work
OWN_ORDER = [] if ROWS_FIRST else ["horizontal-first"]


def probe(*arguments, stdin=None):
    return subprocess.run([PROBE, *map(str, arguments)], input=stdin, capture_output=True,
                          timeout=60)


def resized(pixels, size, *order):
    height, width = pixels.shape[:2]
    done = probe("resize", width, height, *size, *order, stdin=pixels.tobytes())
    assert done.returncode == 0
    return np.frombuffer(done.stdout, np.uint8).reshape(size[1], size[0], 3)


def decoded(path):
    done = probe("decode", path)
    assert done.returncode == 0, done.stderr
    size, pixels = done.stdout.split(b"\n", 1)
    width, height = map(int, size.split())
    return np.frombuffer(pixels, np.uint8).reshape(height, width, 3)


def reference(path):
    """Upright RGB as transformers makes it: EXIF as in load_image, alpha as in the processor."""
    with Image.open(path) as image:
        return convert_to_rgb(ImageOps.exif_transpose(image), return_numpy=True)


def refused(path, *arguments):
    done = probe("decode", path, *arguments)
    assert done.returncode == 3, done.stderr
    return done.stderr.decode().splitlines()[0]


def test_resize_equals_pillow_bit_for_bit():
    for i, (source, target) in enumerate(image_files.random_sizes(120, seed=1)):
        pixels = image_files.picture(*source, seed=i)
        expected = np.array(Image.fromarray(pixels).resize(target, Image.BICUBIC))
        assert np.array_equal(resized(pixels, target, *OWN_ORDER), expected), (source, target)


def test_columns_first_equals_older_pillows():
    """Two resizes of one axis each are one resize in that order, whatever Pillow's own order."""
    for i, (source, target) in enumerate(image_files.random_sizes(60, seed=2)):
        pixels = image_files.picture(*source, seed=i)
        columns = Image.fromarray(pixels).resize((target[0], source[1]), Image.BICUBIC)
        expected = np.array(columns.resize(target, Image.BICUBIC))
        assert np.array_equal(resized(pixels, target, "horizontal-first"), expected), (source, target)


@pytest.mark.parametrize("name, content", list(image_files.png_kinds()), ids=lambda value: value if isinstance(value, str) else "")
def test_every_png_equals_pillow(tmp_path, name, content):
    path = tmp_path / "a.jpeg"  # the name decides nothing
    path.write_bytes(content)
    assert np.array_equal(decoded(path), reference(path))


def test_every_format_equals_pillow(tmp_path):
    for path, lossy in image_files.save_all_kinds(tmp_path):
        ours, theirs = decoded(path).astype(int), reference(path).astype(int)
        assert ours.shape == theirs.shape, path
        assert np.abs(ours - theirs).max() <= (1 if lossy else 0), path


def test_what_the_tower_is_fed_equals_transformers(tmp_path):
    """I10, I15, A21 and random sizes, to the last bit."""
    config = {"size": {"height": 96, "width": 96}, "image_mean": [0.485, 0.456, 0.406],
              "image_std": [0.229, 0.224, 0.225], "crop_to_patches": True, "min_patches": 1,
              "max_patches": 12, "do_center_crop": None, "resample": 3, "do_resize": True,
              "rescale_factor": 1 / 255}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(config))
    processor = GotOcr2ImageProcessorPil(**config)
    rng = random.Random(5)
    sizes = [(640, 480), (96, 96), (1, 400), (400, 1)]
    sizes += [(rng.randint(1, 500), rng.randint(1, 500)) for _ in range(16)]
    for i, size in enumerate(sizes):
        channels, cap = rng.choice((3, 4)), rng.choice((1, 4, 6, 12))
        path = tmp_path / "a.png"
        Image.fromarray(image_files.picture(*size, channels, seed=i)).save(path)
        with Image.open(path) as image:
            expected = processor(image, max_patches=cap, return_tensors="np")["pixel_values"]
        done = probe("fed", path, tmp_path, cap, *OWN_ORDER)
        assert done.returncode == 0, done.stderr
        head, values = done.stdout.split(b"\n", 1)
        ours = np.frombuffer(values, np.float32).reshape(int(head.split()[0]), 3, 96, 96)
        assert ours.shape == expected.shape, (size, cap)
        assert np.array_equal(ours, expected), (size, cap)


def test_files_that_are_no_pictures(tmp_path):
    """I01, I02, I03, I08, I11: refused by what they are."""
    path = tmp_path / "a.jpg"
    path.write_bytes(b"")
    assert refused(path) == "empty_input"
    path.write_bytes(b"<!DOCTYPE html><html><body>404 Not Found</body></html>")
    assert refused(path) == "unknown_format"
    Image.fromarray(image_files.picture(64, 64)).save(path)
    path.write_bytes(path.read_bytes()[:-15])
    assert refused(path) == "malformed_image"
    Image.fromarray(image_files.picture(64, 64)).save(tmp_path / "a.tiff")
    assert refused(tmp_path / "a.tiff") == "unknown_format"
    path.write_bytes(image_files.png_header(20000, 20000))
    assert refused(path) == "image_too_large"
    Image.fromarray(image_files.picture(64, 64)).save(path)
    assert refused(path, 64 * 64 - 1) == "image_too_large"
    assert refused(tmp_path / "missing.png") == "file_not_found"
    assert refused(tmp_path) == "file_unreadable"


def test_names_are_only_bytes(tmp_path):
    """A17: blanks, percent signs, emoji, both forms of an accent, under any locale."""
    for name in ("图 片.png", "a%20b.png", "a#b.png", "🙂.png", "\u00e9.png", "e\u0301.png", "b.png "):
        path = tmp_path / name
        Image.fromarray(image_files.picture(5, 4)).save(path, format="PNG")
        done = subprocess.run([PROBE, "decode", path], capture_output=True,
                              env={**os.environ, "LC_ALL": "C"})
        assert done.returncode == 0, name


def test_a_processor_that_does_more_is_refused_by_name(tmp_path):
    Image.fromarray(image_files.picture(5, 5)).save(tmp_path / "a.png")
    config = {"size": {"height": 96, "width": 96}, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    for key, value in {"do_center_crop": True, "resample": 2, "size": {"shortest_edge": 336},
                       "image_std": [0.5, 0.0, 0.5], "do_normalize": False}.items():
        (tmp_path / "preprocessor_config.json").write_text(json.dumps({**config, key: value}))
        done = probe("fed", tmp_path / "a.png", tmp_path, 12)
        assert done.returncode == 3
        assert done.stderr.startswith(b"unsupported_model") and key.encode() in done.stderr
    joint = {"image_processor": config, "image_seq_length": 256}
    (tmp_path / "preprocessor_config.json").unlink()
    (tmp_path / "processor_config.json").write_text(json.dumps(joint))
    assert probe("fed", tmp_path / "a.png", tmp_path, 12).stdout.startswith(b"1 96\n")
