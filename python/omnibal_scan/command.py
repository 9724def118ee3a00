# SPDX-License-Identifier: Apache-2.0
"""The program omnibal-scan."""
import argparse
import json
import random
import sys

import xxhash

from omnibal_scan import annotations, conversation, pictures, prepared
from omnibal_scan.chat import Chat
from omnibal_scan.model import read_vision_settings
from omnibal_scan.problems import BadInput, Rejected

EXIT_CODES = {"would_overwrite": 1, "write_failed": 1}  # anything else: bad input, 3


def _arguments():
    parser = argparse.ArgumentParser(
        prog="omnibal scan", epilog="example: omnibal scan meta.json --model InternVL3-1B-hf --out corpus/",
        description="annotations and pictures into a corpus directory with tokens")
    parser.add_argument("meta", help="InternVL meta file: data sets with root, annotation, repeat_time")
    parser.add_argument("--model", required=True, metavar="DIR",
                        help="tokenizer, chat template, config.json and image processor")
    parser.add_argument("--out", required=True, metavar="DIR")
    parser.add_argument("--max-tiles", type=int, metavar="N",
                        help="cap of a sample, shared by its pictures (default: the processor's)")
    parser.add_argument("--max-pixels", type=int, default=178_956_970, metavar="N",
                        help="larger pictures are rejected by their header (default: %(default)s)")
    parser.add_argument("--missing-placeholder", choices=("reject", "prefix"), default="reject",
                        help="one picture without <image>: reject the row, or put one first, as InternVL does")
    parser.add_argument("--dummy", action="store_true", help="a blank tile for samples without pictures")
    parser.add_argument("--decode-check", action="store_true", help="decode every picture")
    parser.add_argument("--seed", type=int, default=0, help="draws the fractional part of a repeat")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.max_tiles is not None and arguments.max_tiles < 1:
        parser.error("--max-tiles must be at least 1")
    return arguments


def prepare_row(row, dataset, chat, vision, arguments):
    """(ids, mask, grids, paths) of one row, or Rejected."""
    if isinstance(row, Rejected):
        raise row
    messages = conversation.read_turns(row)
    names = conversation.read_image_names(row)
    conversation.match_placeholders(messages, len(names), arguments.missing_placeholder == "prefix")
    cap = max(1, vision.tiling.max_tiles // max(1, len(names)))
    paths = [pictures.local_path(dataset.root, name) for name in names]
    grids = [pictures.tile_grid(*pictures.upright_size(path, arguments.max_pixels,
                                                       arguments.decode_check), vision.tiling, cap)
             for path in paths]
    ids, mask = chat.encode(messages, [pictures.num_tiles(grid) for grid in grids])
    return ids, mask, grids, paths


def repeated(usable, repeat, rng):
    """The whole copies of a list, then as much of one more as is left, drawn without repetition, in
    order."""
    whole = int(repeat)
    extra = rng.sample(range(len(usable)), round(len(usable) * (repeat - whole)))
    return usable * whole + [usable[i] for i in sorted(extra)]


def scan_dataset(index, dataset, chat, vision, arguments, writer):
    """Adds a data set's rows and samples; its entry in `sources`."""
    usable = []
    for number, row in annotations.rows(dataset.annotation):
        try:
            ids, mask, grids, paths = prepare_row(row, dataset, chat, vision, arguments)
        except Rejected as problem:
            writer.reject(dataset.name, number, problem)
            continue
        tiles = sum(pictures.num_tiles(grid) for grid in grids)
        blank = 1 if arguments.dummy and tiles == 0 else 0
        usable.append((writer.add_row(ids, mask, grids, paths),
                       {"vision": tiles + blank, "dummy_vision": blank, "tokens": len(ids),
                        "supervised": int(mask.sum()), "source": index, "row": number}))
    samples = repeated(usable, dataset.repeat, random.Random(f"{arguments.seed}/{dataset.name}"))
    for prepared_row, columns in samples:
        writer.add_sample(prepared_row, **columns)
    with open(dataset.annotation, "rb") as file:
        digest = xxhash.xxh3_128(file.read()).hexdigest()
    return {"name": dataset.name, "path": dataset.annotation, "hash": digest,
            "samples": len(samples), "weight": 1.0, "repeat": dataset.repeat}


def reasons_of(writer):
    """The commonest reasons, for a person."""
    return ", ".join(f"{count} {reason}" for reason, count in writer.reasons.most_common(5))


def scan(arguments):
    datasets = annotations.read_meta(arguments.meta)
    vision = read_vision_settings(arguments.model, arguments.max_tiles)
    chat = Chat(arguments.model, vision.llm_tokens)
    writer = prepared.PreparedWriter(arguments.out)
    try:
        sources = [scan_dataset(index, dataset, chat, vision, arguments, writer)
                   for index, dataset in enumerate(datasets)]
        num_samples = sum(source["samples"] for source in sources)
        if num_samples == 0:
            raise BadInput("nothing_usable", f"0 of {writer.reasons.total()} rows are usable",
                           file=arguments.meta, value=reasons_of(writer))
        unit = {"name": f"tile-{vision.tiling.tile_size}", "vision_tokens": vision.vision_tokens,
                "llm_tokens": vision.llm_tokens}
        options = {"model": arguments.model, "max_tiles": vision.tiling.max_tiles,
                   "missing_placeholder": arguments.missing_placeholder, "dummy": arguments.dummy}
        corpus = {"format": "omnibal.corpus", "version": 1, "samples": num_samples, "unit": unit,
                  "supervised_is_estimate": False, "sources": sources, "hash": "",
                  "provenance": {"tool": "omnibal-scan 0.1.0", "options": options,
                                 "seed": arguments.seed, "inputs": [{"path": arguments.meta}]}}
        header = {"format": "omnibal.prepared", "version": 1, "rows": writer.num_rows,
                  "rejected": writer.reasons.total(), "tile_size": vision.tiling.tile_size,
                  "image_token_id": chat.image_token_id,
                  "chat_template_hash": xxhash.xxh3_128(chat.template_text.encode()).hexdigest()}
        writer.commit(corpus, header)
    finally:
        writer.discard()
    return {"command": "scan", "samples": num_samples, "rows": writer.num_rows,
            "rejected": writer.reasons.total(), "reasons": dict(writer.reasons.most_common()),
            "out": arguments.out}


def main():
    arguments = _arguments()
    try:
        answer = scan(arguments)
    except BadInput as problem:
        print(problem.to_text(), file=sys.stderr)
        if arguments.json:
            print(json.dumps(problem.to_json()))
        return EXIT_CODES.get(problem.code, 3)
    if arguments.json:
        print(json.dumps(answer))
    else:
        print(f"{answer['samples']} samples of {answer['rows']} rows in {answer['out']}, "
              f"{answer['rejected']} rows rejected (rejected.jsonl)")
    return 0
