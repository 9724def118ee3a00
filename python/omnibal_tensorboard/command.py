# SPDX-License-Identifier: Apache-2.0
"""The program omnibal-tensorboard."""
import argparse
import json
import pathlib
import sys

from tensorboardX import SummaryWriter

from omnibal_scan.problems import BadInput

EXIT_CODES = {"would_overwrite": 1}  # others: bad input, 3


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="omnibal-tensorboard",
        description="Writes the log of omnibal-train as events of TensorBoard: tensorboard --logdir DIR; "
                    "wandb sync --sync-tensorboard DIR sends them to W&B.")
    parser.add_argument("log", help="JSON Lines of omnibal-train, a row a step")
    parser.add_argument("--out", required=True, metavar="DIR", help="a folder that is not there yet, or empty")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def read_rows(path):
    """Rows of the log, and whether the last line was cut off (a training that still writes)."""
    try:
        lines = pathlib.Path(path).read_text(encoding="utf-8").split("\n")
    except OSError as problem:
        raise BadInput("file_unreadable", f"the log cannot be read: {problem.strerror}", file=path,
                       hint="give the file that `log` of train.toml names") from problem
    tail = lines.pop()
    rows = [parse_row(line, path, number) for number, line in enumerate(lines, 1)]
    if not rows:
        raise BadInput("empty_input", "the log has no row", file=path, hint="wait for the first step")
    return rows, bool(tail)


def parse_row(line, path, number):
    try:
        row = json.loads(line)
    except ValueError as problem:
        raise BadInput("malformed_json", "a line is not JSON", file=path, row=number,
                       hint="give a log that omnibal-train wrote") from problem
    if not isinstance(row, dict) or not isinstance(row.get("step"), int):
        raise BadInput("missing_key", "a row has no number of its step", file=path, row=number, key="step",
                       hint="give a log that omnibal-train wrote")
    return row


def scalars_of(row):
    """Numbers of a row by tag, and what is made of them."""
    scalars = {key: value for key, value in row.items()
               if key != "step" and isinstance(value, (int, float)) and not isinstance(value, bool)}
    seconds = scalars.get("seconds", 0)
    if seconds > 0:
        for tag, key in (("tokens_per_s", "tokens"), ("padded_tokens_per_s", "token_capacity")):
            if key in scalars:
                scalars[tag] = scalars[key] / seconds
        if scalars.get("predicted_s", 0) > 0:
            scalars["measured_over_predicted"] = seconds / scalars["predicted_s"]
    if scalars.get("tile_capacity", 0) > 0:
        scalars["tile_fill"] = scalars.get("tiles", 0) / scalars["tile_capacity"]
    return scalars


def write_events(rows, out):
    folder = pathlib.Path(out)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput("would_overwrite", "the folder is not empty", file=out, key="--out",
                       hint="name another: events are only ever added to")
    elapsed = 0.0
    with SummaryWriter(str(folder)) as writer:
        for row in rows:
            scalars = scalars_of(row)
            elapsed += scalars.get("seconds", 0)
            for tag, value in scalars.items():
                writer.add_scalar(tag, value, row["step"], walltime=elapsed)


def main():
    arguments = parse_arguments()
    try:
        rows, cut_off = read_rows(arguments.log)
        write_events(rows, arguments.out)
    except BadInput as problem:
        if arguments.json:
            print(json.dumps(problem.to_json(), indent=2))
        print(problem.to_text(), file=sys.stderr)
        return EXIT_CODES.get(problem.code, 3)
    if arguments.json:
        print(json.dumps({"command": "tensorboard", "steps": len(rows), "out": arguments.out}, indent=2))
    else:
        print(f"{len(rows)} steps in {arguments.out}" + (", an unfinished line left out" if cut_off else ""))
    return 0
