# SPDX-License-Identifier: Apache-2.0
"""Table 4: what cuts by forward time alone cost against BMP's, everything recomputed.

GPU days as in the row +model of table 2, from some of the epoch's steps: packs by ISF in random order, each
rank's pipeline simulated with the load of every pack, the slowest rank decides.
"""
import json

import numpy as np

import paper
from figures import days, relative, table
from profile_layers import read_layers
from program import ask

MIB = 2**20
DP, MICRO_BATCHES, STAGES, GPUS = 8, 32, 4, 64
METHODS = {"profile-based": "anchor", "BMP": "bmp"}


def profile_at(folder, load, name):
    """The layers' costs, at the load of the mean or of a full pack."""
    path = folder / f"{name}.json"
    ask("profile", "--model", paper.MODEL, "--cluster", paper.CLUSTER, "--tp", 2, "--dp", DP, "--out",
        path)
    profile = json.loads(path.read_text())
    profile["load"] = dict(zip(("vision_units", "tokens", "token_pairs"), map(float, load)))
    path.write_text(json.dumps(profile))
    return path


def partition(profile, method):
    return ask("partition", profile, "--pp", STAGES, "--micro-batches", MICRO_BATCHES, "--method", method,
               "--recompute", "full")


def boundary_mib(layers, cuts):
    """What crosses the cuts in one direction."""
    return sum(layers[cut - 1].boundary_bytes for cut in cuts) / MIB


def random_steps(loads, count):
    """[count, MICRO_BATCHES, DP] of packs in random order."""
    order = np.random.default_rng(0).permutation(len(loads))
    return order[:count * DP * MICRO_BATCHES].reshape(count, MICRO_BATCHES, DP)


class Simulation:
    """Steps of the same packs through any cuts."""

    def __init__(self, profile, loads, num_samples, num_steps, folder):
        self.profile, self.loads, self.path = profile, loads, folder / "loads.json"
        self.num_samples, self.steps = num_samples, random_steps(loads, num_steps)

    def rank_seconds(self, answer, packs):
        keys = ("vision_units", "tokens", "token_pairs")
        self.path.write_text(json.dumps([dict(zip(keys, load)) for load in self.loads[packs].tolist()]))
        return ask("simulate", "--profile", self.profile, "--loads", self.path,
                   "--micro-batches", MICRO_BATCHES, "--cuts", ",".join(map(str, answer["cuts"])),
                   "--recompute-layers", ",".join(map(str, answer["recompute"])))["makespan_s"]

    def gpu_days(self, answer):
        """Of an epoch of the paper's samples that is like these steps."""
        seconds = [max(self.rank_seconds(answer, step[:, rank]) for rank in range(DP))
                   for step in self.steps]
        packs = len(self.loads) * paper.SAMPLES / self.num_samples
        return np.mean(seconds) * packs / (DP * MICRO_BATCHES) * GPUS / 86400


def table_4(corpus, folder, num_steps):
    print(f"\n### Table 4: cuts by forward time alone, and BMP ({num_steps} steps of the epoch)")
    packed = folder / "isf"
    samples = ask("pack", corpus, *paper.CAPS, "--method", "isf", "--out", packed)["samples"]
    loads = np.load(packed / "pack_load.npy")
    mean = profile_at(folder, loads.mean(axis=0), "mean")
    full = read_layers(profile_at(folder, (9, 4096, 4096**2), "full"))
    simulation = Simulation(mean, loads, samples, num_steps, folder)
    inside_llm = (STAGES - 1) * boundary_mib(full, [len(full) - 2])
    rows, found = [], []
    for name, method in METHODS.items():
        answer = partition(mean, method)
        cuts, published = answer["cuts"], paper.TABLE_4[name]
        found.append(cuts)
        ours = simulation.gpu_days(answer)
        rows.append([name, f"`{method}`", ", ".join(map(str, cuts)), f"{answer['var_forward']:.1f}",
                     f"{boundary_mib(full, cuts) - inside_llm:+.1f}", f"{published.communication:+.1f}",
                     days(ours), published.gpu_days, relative(ours, published.gpu_days)])
    table(["", "method", "cuts", "variance ms^2", "communication MiB", "paper", "GPU days", "paper", "error"],
          rows)
    print("\nCommunication: what crosses the cuts for a full pack, above that of cuts inside the LLM.")
    if found[0] == found[1]:
        print("The modelled layers of a kind are alike, and links cost nothing: cuts by forward time are those "
              "of BMP. The difference that the paper measures is not reproduced.")
