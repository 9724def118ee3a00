# SPDX-License-Identifier: Apache-2.0
"""One packer on one corpus in a process of its own: processor seconds, so that other work on the
machine does not count, and the memory that it adds to what the process held.

    python pack_once.py NAME CORPUS.npz VISION_CAP TOKEN_CAP OUT.npz    # {"seconds": ..., "mib": ...}
"""
import json
import resource
import sys
import time

import numpy as np

from packers import PACKERS


def held_mib():
    """Memory held now."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024


def main():
    name, corpus, vision_cap, token_cap, out = sys.argv[1:]
    packer = PACKERS[name]
    columns = np.load(corpus)
    vision, tokens = columns["vision"], columns["tokens"]
    caps = (int(vision_cap), int(token_cap))
    packer.prepare(vision[:16], tokens[:16], caps)  # imports
    before = held_mib()
    given = packer.prepare(vision, tokens, caps)
    began = time.process_time()
    result = packer.pack(given)
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    packing = packer.to_packing(result, given)
    arrays = {key: value for key, value in packing._asdict().items() if value is not None}
    np.savez(out, **arrays)
    print(json.dumps({"seconds": seconds, "mib": peak - before}))


if __name__ == "__main__":
    main()
