# SPDX-License-Identifier: Apache-2.0
"""Sizes of pictures, by their headers, and the tiles that they become."""
import dataclasses
import os
import re
import stat
import struct

from PIL import ExifTags, Image

from omnibal_scan.problems import Rejected

Image.MAX_IMAGE_PIXELS = None  # upright_size has a limit of its own
FORMATS = ("JPEG", "PNG", "GIF", "WEBP")  # that the trainer decodes
TURNED = (5, 6, 7, 8)
REMOTE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:(//|[^/])")


@dataclasses.dataclass(frozen=True)
class Tiling:
    tile_size: int = 448
    min_tiles: int = 1
    max_tiles: int = 12


def tile_grid(width, height, tiling, max_tiles):
    """(columns, rows) with the aspect ratio nearest to the picture's; a tie goes to the later grid
    if the picture has more than half its area. By number of tiles, then by columns."""
    best, best_difference = (1, 1), float("inf")
    half_tile = 0.5 * tiling.tile_size * tiling.tile_size
    for tiles in range(tiling.min_tiles, max_tiles + 1):
        for columns in (c for c in range(1, tiles + 1) if tiles % c == 0):
            difference = abs(width / height - columns / (tiles // columns))
            if difference < best_difference or (difference == best_difference
                                                and width * height > half_tile * tiles):
                best, best_difference = (columns, tiles // columns), difference
    return best


def num_tiles(grid):
    return grid[0] * grid[1] + (grid[0] * grid[1] > 1)  # and the thumbnail


def local_path(root, name):
    """Where a picture lies; names are taken as they are, not decoded."""
    if name.startswith("file://"):
        return name[len("file://"):]
    if REMOTE.match(name) and not os.path.exists(os.path.join(root, name)):
        raise Rejected("remote_image", "a remote image needs width/height and a local copy",
                       value=name[:80])
    return os.path.join(root, name)


def _png_metadata(file):
    """(EXIF, XMP) of a PNG; both may stand behind the pixels, which are stepped over: Pillow would
    decode them."""
    exif, xmp = b"", b""
    file.seek(8)
    while len(head := file.read(8)) == 8:
        length, kind = struct.unpack(">I4s", head)
        wanted = kind in (b"eXIf", b"iTXt")
        content = file.read(length) if wanted else b""
        file.seek(4 if wanted else length + 4, os.SEEK_CUR)
        if kind == b"eXIf":
            exif = content
        elif content.startswith(b"XML:com.adobe.xmp"):
            xmp = content
    return exif, xmp


def _is_turned(image, path):
    """Whether width and height change places on the way to upright."""
    if image.format != "PNG":
        return image.getexif().get(ExifTags.Base.Orientation, 1) in TURNED
    with open(path, "rb") as file:
        metadata, xmp = _png_metadata(file)
    exif = Image.Exif()
    exif.load(metadata)
    if ExifTags.Base.Orientation in exif:
        return exif[ExifTags.Base.Orientation] in TURNED
    found = re.search(rb'tiff:Orientation(?:="|>)([0-9])', xmp)
    return found is not None and int(found[1]) in TURNED


def upright_size(path, max_pixels, decode_check):
    """Width and height as a viewer shows them; Rejected says what the file is instead."""
    try:
        status = os.stat(path)
    except (OSError, ValueError) as problem:
        raise Rejected("image_missing", f"the image cannot be opened: {problem}", value=path) from None
    if not stat.S_ISREG(status.st_mode):
        raise Rejected("image_no_file", "the image is no regular file", value=path)
    if status.st_size == 0:
        raise Rejected("image_empty", "the image file is empty", value=path)
    try:
        with Image.open(path) as image:
            if image.format not in FORMATS:
                raise Rejected("image_format", f"{image.format} images are not read", value=path)
            width, height = image.size
            if width * height > max_pixels:
                raise Rejected("image_too_large", f"the image has {width} x {height} pixels",
                               width * height, max_pixels)
            turned = _is_turned(image, path)
            if decode_check:
                image.load()
    except PermissionError:
        raise Rejected("image_missing", "the image may not be read", value=path) from None
    except (OSError, ValueError, SyntaxError, EOFError) as problem:
        known = not isinstance(problem, Image.UnidentifiedImageError)
        raise Rejected("image_broken" if known else "not_an_image",
                       str(problem) if known else "the file is not an image", value=path) from None
    return (height, width) if turned else (width, height)
