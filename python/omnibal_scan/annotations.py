# SPDX-License-Identifier: Apache-2.0
"""Meta files (data sets by name) and the rows of their annotation files."""
import dataclasses
import json
import os
import pathlib

from omnibal_scan.problems import BadInput, Rejected

MAX_ROW_BYTES = 16 << 20


@dataclasses.dataclass
class Dataset:
    name: str
    root: str          # what image paths are relative to
    annotation: str
    repeat: float = 1.0


def _no_duplicates(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(n for n in names if names.count(n) > 1)!r} stands twice")
    return found


def parse(text):
    """JSON in which a key given twice, NaN and bottomless nesting are errors (ValueError)."""
    def refuse(constant):
        raise ValueError(f"{constant} is not JSON")
    try:
        return json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_text(path):
    try:
        if not pathlib.Path(path).is_file():
            raise BadInput("file_not_found" if not pathlib.Path(path).exists() else "file_unreadable",
                           "there is no file of this name", file=str(path))
        return pathlib.Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise BadInput("malformed_json", f"the file is not UTF-8: {problem.reason}", file=str(path)) from None
    except OSError as problem:
        raise BadInput("file_unreadable", str(problem), file=str(path)) from None


def read_meta(path):
    """The data sets of an InternVL meta file. Paths in it are relative to its folder."""
    try:
        document = parse(read_text(path))
    except ValueError as problem:
        raise BadInput("malformed_json", f"malformed JSON: {problem}", file=str(path)) from None
    if not isinstance(document, dict) or not document:
        raise BadInput("empty_input", "a meta file is an object of data sets by name", file=str(path))
    folder = pathlib.Path(path).parent
    datasets = []
    for name, entry in document.items():
        if not isinstance(entry, dict) or not isinstance(entry.get("annotation"), str):
            raise BadInput("missing_key", "the data set has no annotation file", file=str(path),
                           key=f"{name}.annotation")
        repeat = entry.get("repeat_time", entry.get("repeat", 1))
        if isinstance(repeat, bool) or not isinstance(repeat, (int, float)) or not 0 < repeat < 1e6:
            raise BadInput("out_of_range", "repeat_time is a number above 0", file=str(path),
                           key=f"{name}.repeat_time", value=repeat)
        # Absolute, so that the trainer finds them from any folder; `..` stays, for it may follow a link.
        root = os.path.join(os.getcwd(), folder, str(entry.get("root", "")))
        datasets.append(Dataset(name, root,
                                str(folder / entry["annotation"]), float(repeat)))
    return datasets


def rows(path):
    """Yields (row number from 0, object or Rejected): one JSON array, or an object a line, whatever
    the name; a byte order mark, CRLF and blank lines are fine."""
    text = read_text(path)
    if not text.strip():
        raise BadInput("empty_input", "the annotation file is empty", file=str(path))
    if text.lstrip()[0] == "[":
        try:
            elements = parse(text)
        except ValueError as problem:
            raise BadInput("malformed_json", f"malformed JSON: {problem}", file=str(path)) from None
        yield from ((i, _checked(element)) for i, element in enumerate(elements))
        return
    number = 0
    for line in text.split("\n"):  # not splitlines: JSON text may hold other separators
        if not line.strip():
            continue
        if len(line) > MAX_ROW_BYTES:
            yield number, Rejected("row_too_long", "the row is too long", len(line), MAX_ROW_BYTES)
        else:
            try:
                yield number, _checked(parse(line))
            except ValueError as problem:
                yield number, Rejected("malformed_row", f"malformed JSON: {problem}")
        number += 1


def _checked(row):
    return row if isinstance(row, dict) else Rejected("malformed_row", "the row is not an object")
