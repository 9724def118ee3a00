# SPDX-License-Identifier: Apache-2.0
"""The packers of other projects, each called as its users call it.

    packer = PACKERS["verl"]
    given = packer.prepare(vision, tokens, caps)    # the packer's own form of input, not timed
    packing = packer.to_packing(packer.pack(given), given)
"""
import functools
import importlib.util
import pathlib
import sys
import tempfile
import types
import typing

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "reference"))
from isf import isf  # noqa: E402

DP = 8
VERL_BATCH = 1024  # samples of a global batch


class Packing(typing.NamedTuple):
    """Segments of samples in packs. A segment is a whole sample unless the packer cuts."""
    offsets: np.ndarray            # [packs + 1]
    samples: np.ndarray            # [segments]
    tokens: np.ndarray             # [segments]
    grid: np.ndarray | None = None  # [rows, DP] of packs where the packer deals to ranks


class Packer(typing.NamedTuple):
    prepare: typing.Callable
    pack: typing.Callable
    to_packing: typing.Callable
    knows_vision: bool
    most_samples: int              # what it packs in about two minutes
    growth: int                    # its time grows as samples ** growth


def from_lists(packs, tokens, grid=None):
    samples = np.fromiter((i for pack in packs for i in pack), dtype=np.int64)
    offsets = np.concatenate(([0], np.cumsum([len(pack) for pack in packs])))
    return Packing(offsets, samples, tokens[samples].astype(np.int64), grid)


# ISF in plain Python, 50 rounds.

def prepare_isf(vision, tokens, caps):
    return types.SimpleNamespace(vision=vision.tolist(), tokens=tokens.tolist(), caps=caps,
                                 array=tokens)


def pack_isf(given):
    return isf(given.vision, given.tokens, *given.caps)


# binpacking: least loaded bin with room.

def prepare_binpacking(_vision, tokens, caps):
    import binpacking  # noqa: F401
    return types.SimpleNamespace(volumes=dict(enumerate(tokens.tolist())), cap=caps[1], array=tokens)


def pack_binpacking(given):
    import binpacking
    return binpacking.to_constant_volume(given.volumes, given.cap)


# trl: pack_dataset in its default batches of 1,000 rows. Every token holds the index of its sample,
# by which segments are found again.

def prepare_trl(_vision, tokens, caps):
    import pyarrow as pa
    from datasets import Dataset
    from trl import pack_dataset  # noqa: F401
    offsets = np.concatenate(([0], np.cumsum(tokens, dtype=np.int64))).astype(np.int64)
    ids = np.repeat(np.arange(len(tokens), dtype=np.int32), tokens)
    column = pa.LargeListArray.from_arrays(offsets, ids)
    folder = tempfile.TemporaryDirectory()
    return types.SimpleNamespace(dataset=Dataset(pa.table({"input_ids": column})), cap=caps[1],
                                 folder=folder)


def pack_trl(strategy):
    def pack(given):
        from trl import pack_dataset
        return pack_dataset(given.dataset, seq_length=given.cap, strategy=strategy,
                            map_kwargs={"cache_file_name": f"{given.folder.name}/packed.arrow"})
    return pack


def trl_to_packing(packed, _given):
    column = packed.with_format("arrow")[:]["input_ids"].combine_chunks()
    bounds = column.offsets.to_numpy()
    ids = column.values.to_numpy()
    starts = np.union1d(np.flatnonzero(np.diff(ids)) + 1, bounds[:-1])
    lengths = np.diff(np.append(starts, bounds[-1]))
    return Packing(np.searchsorted(starts, bounds), ids[starts].astype(np.int64), lengths)


# verl: each global batch is dealt to the ranks with equal counts, then each rank cuts its share into
# micro-batches of at most token_cap tokens, as many on all ranks.

@functools.cache
def load_verl_balancing():
    """verl's file as it is. What it imports for types and distributed runs is replaced: it would
    load ray, tensordict and more, none of which takes part in balancing."""
    [root] = importlib.util.find_spec("verl").submodule_search_locations
    selection = types.SimpleNamespace(index_select_tensor_dict=lambda batch, index: index)
    for name, content in {
            "verl": {}, "verl.utils": {"tensordict_utils": selection},
            "verl.protocol": {"DataProto": object},
            "verl.utils.device": {"get_device_name": lambda: "cpu"}}.items():
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(content)
    spec = importlib.util.spec_from_file_location(
        "seqlen_balancing", pathlib.Path(root) / "utils" / "seqlen_balancing.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def prepare_verl(_vision, tokens, caps):
    import torch
    torch.set_num_threads(1)
    whole = len(tokens) // DP * DP
    return types.SimpleNamespace(balancing=load_verl_balancing(), tokens=tokens.tolist(), whole=whole,
                                 cap=caps[1], array=tokens)


def verl_micro_batches(balancing, lengths, cap, at_least):
    import torch
    offsets = torch.tensor([0, *np.cumsum(lengths)])
    batch = {"input_ids": types.SimpleNamespace(is_nested=True, offsets=lambda: offsets)}
    return balancing.rearrange_micro_batches(batch, cap, min_num_micro_batch=at_least)[1]


def verl_batch(balancing, tokens, cap):
    """For each rank its micro-batches. The ranks agree on the number of them: the least that keeps the
    cap on all, which verl finds by all_reduce over them."""
    ranks = balancing.get_seqlen_balanced_partitions(tokens, DP, equal_size=True)
    counts, dealt = [1] * DP, [None] * DP
    while dealt[0] is None or len(set(counts)) > 1:
        most = max(counts)
        for r, rank in enumerate(ranks):
            if dealt[r] is None or counts[r] < most:
                parts = verl_micro_batches(balancing, [tokens[i] for i in rank], cap, most)
                dealt[r] = [[rank[i] for i in part] for part in parts]
                counts[r] = len(parts)
    return dealt


def pack_verl(given):
    packs, rows = [], []
    for begin in range(0, given.whole, VERL_BATCH):
        dealt = verl_batch(given.balancing, given.tokens[begin:min(begin + VERL_BATCH, given.whole)],
                           given.cap)
        for row in zip(*dealt, strict=True):
            rows.append(range(len(packs), len(packs) + DP))
            packs.extend([begin + i for i in part] for part in row)
    return packs, rows


def plain(packs, given):
    return from_lists(packs, given.array)


PACKERS = {
    "plain Python ISF": Packer(prepare_isf, pack_isf, plain, True, 1_000_000, 1),
    "trl bfd": Packer(prepare_trl, pack_trl("bfd"), trl_to_packing, False, 200_000, 1),
    "trl wrapped": Packer(prepare_trl, pack_trl("wrapped"), trl_to_packing, False, 200_000, 1),
    "verl": Packer(prepare_verl, pack_verl,
                   lambda result, given: from_lists(result[0], given.array, np.array(result[1])),
                   False, 32_768, 1),
    "binpacking": Packer(prepare_binpacking, pack_binpacking, plain, False, 32_768, 2),
}
