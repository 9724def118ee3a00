# SPDX-License-Identifier: Apache-2.0
"""Image files of every kind that the trainer's decoder meets."""
import random
import struct
import zlib

import numpy as np
from PIL import Image

ORIENTATION = 0x0112
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # of PNG's colour types
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
         (0, 1, 1, 2)]  # first column, first row, column step, row step


def picture(width, height, channels=3, seed=0):
    """Smooth shapes with noise and edges: neither flat nor white noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    planes = [127 + 90 * np.sin(x / (3 + 5 * c) + y / (7 - c)) + 38 * (x + y > width)
              for c in range(channels)]
    noisy = np.stack(planes, -1) + rng.normal(0, 12, (height, width, channels))
    return np.clip(noisy, 0, 255).astype(np.uint8)


def _chunk(kind, content):
    body = kind + content
    return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))


def _rows(samples, depth):
    """Rows as PNG stores them, each behind filter type 0."""
    stored = b""
    for row in samples.reshape(samples.shape[0], -1):
        if depth == 16:
            packed = row.astype(">u2").tobytes()
        elif depth == 8:
            packed = row.astype(np.uint8).tobytes()
        else:
            bits = np.unpackbits(row.astype(np.uint8)[:, None], axis=1)[:, 8 - depth:]
            packed = np.packbits(bits.ravel()).tobytes()
        stored += b"\0" + packed
    return stored


def png_header(width, height):
    """The beginning of a PNG that claims this size, and no pixel."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", b"")


def png(samples, depth, color_type, palette=b"", transparent=b"", interlaced=False):
    """`samples`: [height, width, channels] of values below 2^depth."""
    height, width = samples.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, depth, color_type, 0, 0, int(interlaced))
    data = b""
    for x, y, dx, dy in ADAM7 if interlaced else [(0, 0, 1, 1)]:
        part = samples[y::dy, x::dx]
        if part.size:
            data += _rows(part, depth)
    chunks = [(b"IHDR", header), (b"PLTE", palette), (b"tRNS", transparent),
              (b"IDAT", zlib.compress(data)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, content) for kind, content in chunks
                                           if content or kind == b"IEND")


def png_kinds():
    """Name and bytes of every pair of colour type and depth, plain, transparent, interlaced."""
    rng = np.random.default_rng(3)
    for color_type, depths in {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16),
                               6: (8, 16)}.items():
        for depth in depths:
            samples = rng.integers(0, 2**depth, (11, 13, CHANNELS[color_type]))
            palette = rng.integers(0, 256, 3 * 2**depth, dtype=np.uint8).tobytes()
            pixel = samples[5, 6]
            clear = {0: lambda: struct.pack(">H", pixel[0]),
                     2: lambda: struct.pack(">3H", *pixel),
                     3: lambda: rng.integers(0, 256, 2**depth, dtype=np.uint8).tobytes()}
            for interlaced in (False, True):
                for transparent in ([b"", clear[color_type]()] if color_type in clear else [b""]):
                    name = (f"type{color_type}-{depth}bit" + "-clear" * bool(transparent)
                            + "-interlaced" * interlaced)
                    yield name, png(samples, depth, color_type,
                                    palette if color_type == 3 else b"", transparent, interlaced)


def save_all_kinds(folder):
    """Writes files of all formats that Pillow writes; their paths, and whether the format is lossy
    (then two decoders may differ by rounding)."""
    rgb = Image.fromarray(picture(61, 47))
    rgba = Image.fromarray(picture(40, 33, 4))
    grey = Image.fromarray(picture(30, 41, 1)[..., 0])
    files = []

    def save(image, name, lossy, **options):
        image.save(folder / name, **options)
        files.append((folder / name, lossy))

    for subsampling in range(3):
        save(rgb, f"subsampled{subsampling}.jpg", True, quality=85, subsampling=subsampling)
    save(rgb, "progressive.jpg", True, progressive=True)
    save(grey, "grey.jpg", True)
    save(rgb.convert("CMYK"), "cmyk.jpg", True)
    save(rgb.quantize(13), "palette.gif", False)
    save(rgb.quantize(13), "clear.gif", False, transparency=3)
    save(grey, "grey.gif", False, interlace=1)
    save(rgb.quantize(7), "moving.gif", False, save_all=True, append_images=[rgb.quantize(5)])
    save(rgb, "lossless.webp", False, lossless=True)
    save(rgba, "clear.webp", False, lossless=True, exact=True)
    save(rgb, "lossy.webp", True, quality=80)
    save(rgba, "moving.webp", False, lossless=True, save_all=True, append_images=[rgba.rotate(9)])
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[ORIENTATION] = orientation
        for suffix, lossy in ((".jpg", True), (".png", False), (".webp", False)):
            options = {"lossless": True} if suffix == ".webp" else {}
            save(rgb, f"turned{orientation}{suffix}", lossy, exif=exif.tobytes(), **options)
    xmp = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf tiff:Orientation="8"/></x:xmpmeta>'
    save(rgb, "turned-by-xmp.jpg", True, xmp=xmp)
    save(rgb, "turned-by-xmp.webp", False, xmp=xmp, lossless=True)
    return files


def random_sizes(count, seed, longest=300):
    """Pairs of a source and a target size, extremes and equal sides among them."""
    rng = random.Random(seed)
    side = lambda: rng.choice((1, 2, rng.randint(1, 20), rng.randint(1, longest)))
    for _ in range(count):
        source, target = (side(), side()), (side(), side())
        if rng.random() < 0.2:
            target = (source[0], target[1])
        if rng.random() < 0.2:
            target = (target[0], source[1])
        yield source, target
