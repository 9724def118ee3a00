# SPDX-License-Identifier: Apache-2.0
"""The corpus directory with prepared data (docs/formats/prepared.md), written whole or not at all."""
import collections
import json
import os
import pathlib
import shutil

import numpy as np
import xxhash

from omnibal_scan.problems import BadInput

COLUMNS = {"vision": "<u4", "dummy_vision": "<u2", "tokens": "<u4", "supervised": "<u4",
           "source": "<u2", "row": "<u4"}


class NpyStream:
    """A one-dimensional .npy file (or rows of `columns`) that grows; its length is known at the end."""
    HEADER_BYTES = 128

    def __init__(self, path, dtype, columns=None):
        self.file, self.dtype, self.columns, self.length = open(path, "wb"), dtype, columns, 0
        self.file.write(b" " * self.HEADER_BYTES)

    def extend(self, values):
        values = np.ascontiguousarray(values, self.dtype)
        self.file.write(values.tobytes())
        self.length += len(values)

    def close(self):
        shape = f"({self.length}, {self.columns})" if self.columns else f"({self.length},)"
        header = f"{{'descr': '{np.dtype(self.dtype).str}', 'fortran_order': False, 'shape': {shape}, }}"
        size = self.HEADER_BYTES - 10
        self.file.seek(0)
        self.file.write(b"\x93NUMPY\x01\x00" + size.to_bytes(2, "little")
                        + header.ljust(size - 1).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()


class PreparedWriter:
    """Takes rows one by one; `commit` puts the directory in place."""
    STREAMS = {"token_ids": ("<u4", None), "token_supervised": ("|u1", None),
               "token_offsets": ("<i8", None), "image_offsets": ("<i8", None),
               "image_grids": ("<i4", 2), "image_paths": ("|u1", None),
               "image_path_offsets": ("<i8", None)}

    def __init__(self, target):
        self.target = pathlib.Path(os.path.abspath(target))
        self._check_replaceable()
        self.folder = self.target.with_name(f".{self.target.name}.omnibal-scan-{os.getpid()}")
        shutil.rmtree(self.folder, ignore_errors=True)
        try:
            self.folder.mkdir(parents=True)
        except OSError as problem:
            raise BadInput("write_failed", f"nothing can be written there: {problem.strerror}",
                           file=str(self.target)) from None
        self.streams = {name: NpyStream(self.folder / f"{name}.npy", dtype, columns)
                        for name, (dtype, columns) in self.STREAMS.items()}
        for name in ("token_offsets", "image_offsets", "image_path_offsets"):
            self.streams[name].extend([0])
        self.samples = {name: [] for name in COLUMNS}
        self.prepared_rows = []
        self.rejected = open(self.folder / "rejected.jsonl", "w", encoding="utf-8")
        self.num_rows = 0
        self.reasons = collections.Counter()

    def _check_replaceable(self):
        if not self.target.exists() or (self.target.is_dir() and not any(self.target.iterdir())):
            return
        try:
            header = json.loads((self.target / "corpus.json").read_text())
            foreign = [p.name for p in self.target.iterdir() if p.name not in self._own_names()]
        except (OSError, ValueError):
            header, foreign = None, []
        if not isinstance(header, dict) or header.get("format") != "omnibal.corpus" or foreign:
            raise BadInput("would_overwrite", "the directory is not a corpus of ours: not replaced",
                           file=str(self.target), value=foreign[0] if foreign else None,
                           hint="choose another name, or remove it yourself")

    def _own_names(self):
        return ({f"{name}.npy" for name in (*self.STREAMS, *COLUMNS, "prepared_row")}
                | {"corpus.json", "prepared.json", "rejected.jsonl"})

    def add_row(self, ids, mask, grids, paths):
        """One row's tokens and pictures; its number."""
        streams = self.streams
        streams["token_ids"].extend(ids)
        streams["token_supervised"].extend(mask)
        streams["token_offsets"].extend([streams["token_ids"].length])
        for grid, path in zip(grids, paths, strict=True):
            streams["image_grids"].extend([grid])
            streams["image_paths"].extend(np.frombuffer(os.fsencode(path), np.uint8))
            streams["image_path_offsets"].extend([streams["image_paths"].length])
        streams["image_offsets"].extend([streams["image_grids"].length])
        self.num_rows += 1
        return self.num_rows - 1

    def add_sample(self, prepared_row, **columns):
        self.prepared_rows.append(prepared_row)
        for name in COLUMNS:
            self.samples[name].append(columns[name])

    def reject(self, source, row, problem):
        line = {"source": source, "row": row, "reason": problem.reason, "detail": problem.detail,
                "value": problem.value, "limit": problem.limit}
        self.rejected.write(json.dumps({k: v for k, v in line.items() if v is not None}) + "\n")
        self.reasons[problem.reason] += 1

    def commit(self, corpus_header, prepared_header):
        for stream in self.streams.values():
            stream.close()
        self.rejected.close()
        hasher = xxhash.xxh3_128()
        for name, dtype in COLUMNS.items():
            column = np.array(self.samples[name], dtype)
            hasher.update(column.tobytes())
            np.save(self.folder / f"{name}.npy", column)
        np.save(self.folder / "prepared_row.npy", np.array(self.prepared_rows, "<u4"))
        corpus_header["hash"] = hasher.hexdigest()
        for name, document in (("corpus", corpus_header), ("prepared", prepared_header)):
            text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
            (self.folder / f"{name}.json").write_text(text, encoding="utf-8")
        self._put_in_place()

    def _put_in_place(self):
        for path in self.folder.iterdir():
            with open(path, "rb") as file:
                os.fsync(file.fileno())
        self._check_replaceable()
        aside = self.folder.with_name(self.folder.name + "-old")
        if self.target.exists():
            os.rename(self.target, aside)
        os.rename(self.folder, self.target)
        shutil.rmtree(aside, ignore_errors=True)

    def discard(self):
        shutil.rmtree(self.folder, ignore_errors=True)
