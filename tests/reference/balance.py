# SPDX-License-Identifier: Apache-2.0
"""Figures of a packing, recomputed in NumPy from its arrays. Shares no code with the program it checks.

    loads = pack_loads(offsets, vision[samples], tokens[samples])
    dist_ratio(grid, loads.tokens)          # grid: [rows, dp] of pack ids, -1 a zero-weight pack
"""
import typing

import numpy as np


class Loads(typing.NamedTuple):
    """One number a pack."""
    vision: np.ndarray
    tokens: np.ndarray
    pairs: np.ndarray  # sum of squared segment lengths: what attention costs


def sum_groups(values, offsets):
    """Sum of values[offsets[p]:offsets[p + 1]] for each p."""
    running = np.concatenate(([0], np.cumsum(values, dtype=np.int64)))
    return running[offsets[1:]] - running[offsets[:-1]]


def pack_loads(offsets, vision, tokens):
    """`vision` and `tokens`: of the segments, in the order of the packs."""
    tokens = tokens.astype(np.int64)
    return Loads(sum_groups(vision, offsets), sum_groups(tokens, offsets),
                 sum_groups(tokens * tokens, offsets))


def dist_ratio(grid, load):
    """Mean over the rows of sum(T_max - T_i) / (T_max N); rows with a zero-weight pack are left out."""
    rows = grid[(grid >= 0).all(axis=1)]
    if len(rows) == 0:
        return 0.0
    of_rank = np.asarray(load, dtype=np.float64)[rows]
    most = of_rank.max(axis=1)
    idle = (most[:, None] - of_rank).sum(axis=1)
    return float(np.mean(np.divide(idle, most * rows.shape[1], out=np.zeros_like(idle), where=most > 0)))


def forward_seconds(profile, loads):
    """Forward seconds of all layers of a profile (docs/formats/profile.md) at each load."""
    seconds = np.zeros(len(loads.tokens))
    for layer in profile["layers"]:
        cost = layer["forward_s"]
        if not isinstance(cost, dict):
            cost = {"constant": cost}
        seconds += (cost.get("constant", 0) + cost.get("per_vision_unit", 0) * loads.vision
                    + cost.get("per_token", 0) * loads.tokens + cost.get("per_token_pair", 0) * loads.pairs)
    return seconds


def dist_ratios(grid, loads, profile):
    return {"vision": dist_ratio(grid, loads.vision), "tokens": dist_ratio(grid, loads.tokens),
            "attention": dist_ratio(grid, loads.pairs),
            "time": dist_ratio(grid, forward_seconds(profile, loads))}
