# SPDX-License-Identifier: Apache-2.0
"""ISF, the paper's packer (arXiv 2407.20761), as a researcher writes it down: plain Python, lists, no tricks.

    packs = isf(vision, tokens, vision_cap=9, token_cap=4096, rounds=50, seed=0)    # lists of sample indices

Shares no code with the program it checks.
"""
import random


def sample(pool, vision, tokens, vision_cap, token_cap):
    """Groups of the pool in its order, each filled until the next sample would pass a cap."""
    groups, group, units, length = [], [], 0, 0
    for i in pool:
        if group and (units + vision[i] > vision_cap or length + tokens[i] > token_cap):
            groups.append((group, units, length))
            group, units, length = [], 0, 0
        group.append(i)
        units += vision[i]
        length += tokens[i]
    if group:
        groups.append((group, units, length))
    return groups


def isf(vision, tokens, vision_cap, token_cap, rounds=50, seed=0, vision_floor=None, token_floor=None):
    """Packs of all samples; each must fit the caps alone. The last round does not filter."""
    if vision_floor is None:
        vision_floor = vision_cap
    if token_floor is None:
        token_floor = token_cap - 128
    rng = random.Random(seed)
    pool, packs = list(range(len(tokens))), []
    for turn in range(1, rounds + 1):
        rng.shuffle(pool)
        groups = sample(pool, vision, tokens, vision_cap, token_cap)
        pool = []
        for group, units, length in groups:
            if turn == rounds or units >= vision_floor or length >= token_floor:
                packs.append(group)
            else:
                pool.extend(group)
        if not pool:
            break
    return packs
