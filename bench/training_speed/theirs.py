# SPDX-License-Identifier: Apache-2.0
"""The side of transformers: as ours.cpp, steps by the files that standard input names."""
import sys
import time

import torch
from safetensors.torch import load_file
from transformers import AutoModelForImageTextToText
from transformers.utils import logging

torch.set_num_threads(1)
logging.disable_progress_bar()
DTYPE = {"fp32": torch.float32, "bf16": torch.bfloat16}[sys.argv[2]]


def main():
    model = AutoModelForImageTextToText.from_pretrained(sys.argv[1], dtype=DTYPE,
                                                        attn_implementation="sdpa").train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0, fused=True)
    for line in sys.stdin:
        batch = load_file(line.strip())
        wall, processor = time.monotonic(), time.process_time()
        pixels = batch["pixels"].to(DTYPE) if len(batch["pixels"]) else None
        labels = batch["labels"][None]
        # Without use_cache=False positions would not be taken for a pack.
        loss = model(input_ids=batch["ids"][None], pixel_values=pixels, labels=labels, shift_labels=labels,
                     position_ids=batch["positions"][None], use_cache=False,
                     num_items_in_batch=int((labels != -100).sum())).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        value = loss.item()
        print(value, time.monotonic() - wall, time.process_time() - processor, flush=True)


main()
