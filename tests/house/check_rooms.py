# SPDX-License-Identifier: Apache-2.0
"""Proves that the rooms form the DAG of docs/flow.md: a room includes only rooms with a lower number.

    python3 tests/house/check_rooms.py [repository]

Rooms with the same number never include each other. Exit code 1 and one line a violation.
"""
import pathlib
import re
import sys

LEVELS = {
    "base": 0, "codec": 1,
    "corpus": 2, "model": 2, "cluster": 2,
    "cost": 3, "metrics": 4,
    "pack": 5, "steps": 5, "partition": 5, "recompute": 5, "schedule": 5,
    "joint": 6, "simulate": 6, "plan": 7,
    "verify": 8, "report": 8, "export": 8,
    "runtime": 9,
}
# The parts of runtime/, likewise.
PARTS = {
    "comm": 0, "config": 0, "image": 0, "safetensors": 0,
    "data": 1, "layers": 1, "mpi": 1, "nccl": 1, "optimizer": 1,
    "model": 2, "train_config": 2, "pipeline": 3, "train": 4, "program": 5,
}
FORBIDDEN_NAMES = {"util", "utils", "common", "misc", "helper", "helpers"}
INCLUDE = re.compile(r'^\s*#\s*include\s*["<](?:omnibal/)?([a-z_0-9]+)/')
PART_INCLUDE = re.compile(r'^\s*#\s*include\s*"(?:omnibal/runtime/)?([a-z_0-9]+)/')


def violations(root: pathlib.Path):
    rooms = [(room_dir, room_dir.name) for top in (root / "include" / "omnibal", root / "src")
             for room_dir in sorted(p for p in top.iterdir() if p.is_dir())]
    rooms.append((root / "runtime", "runtime"))
    for room_dir, room in rooms:
        if room not in LEVELS:
            yield f"{room_dir}: not a room of docs/flow.md"
            continue
        for source in sorted(room_dir.rglob("*.[ch]*")):
            if source.stem in FORBIDDEN_NAMES:
                yield f"{source}: a file is named after what it holds, not '{source.stem}'"
            for number, line in enumerate(source.read_text().splitlines(), 1):
                found = INCLUDE.match(line)
                target = found.group(1) if found else None
                if target not in LEVELS or target == room:
                    continue
                if LEVELS[target] >= LEVELS[room]:
                    yield (f"{source}:{number}: room {room} ({LEVELS[room]}) includes "
                           f"{target} ({LEVELS[target]})")


def part_violations(root: pathlib.Path):
    tops = (root / "runtime" / "include" / "omnibal" / "runtime", root / "runtime")
    for part_dir in (p for top in tops for p in sorted(top.iterdir()) if p.is_dir()):
        part = part_dir.name
        if part == "include":
            continue
        if part not in PARTS:
            yield f"{part_dir}: not a part of check_rooms.py"
            continue
        for source in sorted(part_dir.rglob("*.[ch]*")):
            for number, line in enumerate(source.read_text().splitlines(), 1):
                found = PART_INCLUDE.match(line)
                target = found.group(1) if found else None
                if target not in PARTS or target == part:
                    continue
                if PARTS[target] >= PARTS[part]:
                    yield (f"{source}:{number}: part {part} ({PARTS[part]}) includes "
                           f"{target} ({PARTS[target]})")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    found = [*violations(root), *part_violations(root)]
    print("\n".join(found) if found else "rooms: a room includes only lower ones")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
