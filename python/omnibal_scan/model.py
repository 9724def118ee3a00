# SPDX-License-Identifier: Apache-2.0
"""What a model directory says of pictures: tile size, tiles, tokens a tile."""
import dataclasses
import json
import pathlib

from omnibal_scan.annotations import read_text
from omnibal_scan.pictures import Tiling
from omnibal_scan.problems import BadInput


@dataclasses.dataclass(frozen=True)
class VisionSettings:
    tiling: Tiling
    llm_tokens: int     # of the language model, a tile
    vision_tokens: int  # of the vision tower, a tile


def read_object(path):
    try:
        document = json.loads(read_text(path))
    except ValueError as problem:
        raise BadInput("malformed_json", f"malformed JSON: {problem}", file=str(path)) from None
    if not isinstance(document, dict):
        raise BadInput("wrong_type", "the file is not a JSON object", file=str(path))
    return document


def _whole(document, key, default, path):
    value = document.get(key)
    value = default if value is None else value
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadInput("out_of_range", "a whole number from 1 is needed", file=str(path), key=key,
                       value=value)
    return value


def read_vision_settings(directory, max_tiles):
    """From preprocessor_config.json (or processor_config.json) and config.json."""
    folder = pathlib.Path(directory)
    own, joint = folder / "preprocessor_config.json", folder / "processor_config.json"
    path = own if own.exists() or not joint.exists() else joint
    processor = read_object(path)
    processor = processor.get("image_processor", processor)
    size = processor.get("size")
    if not isinstance(size, dict) or size.get("height") != size.get("width"):
        raise BadInput("unsupported_model", "tiles are squares", file=str(path), key="size", value=size)
    side = _whole(size, "height", None, path)
    config_path = folder / "config.json"
    config = read_object(config_path)
    patch = config.get("vision_config", {}).get("patch_size", 14)
    patch = patch[0] if isinstance(patch, list) else patch
    if not isinstance(patch, int) or patch < 1 or side % patch:
        raise BadInput("unsupported_model", "a tile is not a whole number of patches",
                       file=str(config_path), key="vision_config.patch_size", value=patch)
    patches = (side // patch) ** 2
    ratio = config.get("downsample_ratio", 0.5)
    llm_tokens = _whole(config, "image_seq_length", round(patches * ratio * ratio), config_path)
    cap = max_tiles if max_tiles is not None else _whole(processor, "max_patches", 12, path)
    tiling = Tiling(side, _whole(processor, "min_patches", 1, path), cap)
    return VisionSettings(tiling, llm_tokens, patches + 1)
