# SPDX-License-Identifier: Apache-2.0
"""Predictions without a published figure: other models, samples and devices.

Sizes follow one rule, which gives the paper's own tp 2, pp 4 and 64 devices for its 26 B model:
- dp 8 and 1024 samples a step, as in the paper;
- tp 1 below 10 B parameters, 2 below 60 B, 4 above;
- pp the least power of two, from 2, with which weights, gradients and optimizer states
  (6 + 12 / dp bytes a parameter) take at most a third of 80 GiB on the mean device.
"""
import json

import paper
from figures import days, gpu_days_of, plan, table
from program import INFEASIBLE, ask

DP, GLOBAL_BATCH = 8, 1024
STATIC_SHARE_BYTES = (80 << 30) / 3
BYTES_A_PARAMETER = 6 + 12 / DP
TILE_PAIRS = ["internvit-300m+qwen2.5-0.5b", "internvit-300m+llama3-8b", "eva-clip-8b+llama3-8b",
              "internvit-6b+internlm2-20b", "eva-clip-18b+internlm2-20b", "internvit-6b+yi-34b",
              "internvit-6b+llama3-70b", "eva-clip-18b+llama3-70b", "internvit-6b+qwen1.5-110b"]
IMAGE_PAIRS = ["clip-vit-l-14-336+llama3-8b", "clip-vit-l-14-336+llama3-70b"]
IMAGE_CORPORA = ["llava-665k", "lcs-558k"]
CLUSTERS = ["a100-80g", "h100-80g", "h200"]


def parameters_of(model, folder):
    path = folder / "parameters.json"
    ask("profile", "--model", model, "--cluster", paper.CLUSTER, "--out", path)
    return sum(layer["parameters"] for layer in json.loads(path.read_text())["layers"])


def sizes_for(parameters):
    tp = 1 if parameters < 10e9 else 2 if parameters < 60e9 else 4
    pp = 2
    while parameters * BYTES_A_PARAMETER / (tp * pp) > STATIC_SHARE_BYTES:
        pp *= 2
    return tp, pp


def row(model, corpus, cluster, caps, folder):
    parameters = parameters_of(model, folder)
    tp, pp = sizes_for(parameters)
    head = [f"`{model}`", f"{parameters / 1e9:.1f}", cluster, f"{tp * pp * DP} = {tp} x {pp} x {DP}"]
    answer = plan(corpus, model, cluster, "--gpus", tp * pp * DP, "--tp", tp, "--pp", pp, "--dp", DP,
                  "--global-batch", GLOBAL_BATCH, *caps, none_if=INFEASIBLE)
    if answer is None:
        return [*head, "does not fit", *[""] * 7]
    found, limits = gpu_days_of(answer), answer["limits"]
    best = min(found, key=found.get)
    return [*head, f"{limits['vision_cap']}, {limits['token_cap']}",
            *(days(found[name]) for name in (*paper.TABLE_2, best)),
            f"{found['baseline'] / found[best]:.2f}x", days(answer["bound"]["gpu_days"])]


def predict(title, corpus, models, clusters, caps, folder):
    print(f"\n### Predictions: {title}")
    table(["model", "B parameters", "devices", "gpus = tp x pp x dp", "caps", *paper.TABLE_2, "best",
           "speed-up", "no idle"],
          (row(model, corpus, cluster, caps, folder) for model in models for cluster in clusters))


def predictions(tiles, folder, quick):
    few = 1 if quick else None
    clusters = CLUSTERS[:few]
    predict("internvl-1.2m, the paper's caps", tiles, TILE_PAIRS[:few], clusters, paper.CAPS, folder)
    for preset in IMAGE_CORPORA[:few]:
        corpus = folder / preset
        ask("synth", "--preset", preset, *(["--samples", 20_000] if quick else []), "--out", corpus)
        predict(f"{preset}, caps chosen by omnibal", corpus, IMAGE_PAIRS[:few], clusters, [], folder)
    print("\nGPU days of an epoch, links free. The H100's and H200's rate is the A100's fraction of the "
          "peak: an assumption.")
