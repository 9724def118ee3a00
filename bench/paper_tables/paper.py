# SPDX-License-Identifier: Apache-2.0
"""Figures that OmniBal (ICML 2025, arXiv 2407.20761) prints, by table. None: not printed there."""
import typing


class GpuDays(typing.NamedTuple):
    unbalanced: float
    balanced: float


TABLE_1 = {"DeepSpeed ZeRO-3": GpuDays(38.9, 25.3), "Megatron (3D)": GpuDays(61.8, 21.3)}

TABLE_2 = {"baseline": 61.8, "+data": 51.9, "+model": 29.0, "+memory": 21.3}  # GPU days


class Padding(typing.NamedTuple):
    pad: float | None
    vision: float | None
    tokens: float | None


TABLE_3 = {"random": Padding(0.31, 0.34, None), "sorted": Padding(0.014, 0.47, 0.40),
           "device-group": Padding(0.378, None, None), "isf": Padding(0, 0.02, 0.14)}


class Cuts(typing.NamedTuple):
    communication: float  # in the paper's MB, more than a reference that it does not name
    gpu_days: float


TABLE_4 = {"profile-based": Cuts(16.6, 30.9), "BMP": Cuts(-21.0, 29.0)}

SAMPLES = 1_267_819
# InternVL-Chat-1.5 on 64 A100, as the tables have it.
MODEL = "internvl-chat-1.5-26b"
CLUSTER = "a100-80g"
GPUS = ["--gpus", 64, "--global-batch", 1024]
SIZES = [*GPUS, "--tp", 2, "--pp", 4, "--dp", 8]
SCHEDULE = ["--schedule", "1f1b"]
CAPS = ["--vision-cap", 9, "--token-cap", 4096]
