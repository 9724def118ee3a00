# SPDX-License-Identifier: Apache-2.0
"""Small trainings of samples that break others: no supervised token, ranks that are fed unlike each other,
packs of one sample or of odd length, an end in the middle of a save."""
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
for package in ("transformers", "PIL", "tokenizers", "jinja2", "xxhash"):
    pytest.importorskip(package, reason=f"{package} is not installed (requirements-runtime.txt)")

import xxhash  # noqa: E402
from conftest import ask  # noqa: E402
from PIL import Image  # noqa: E402
from transformers import InternVLForConditionalGeneration  # noqa: E402
from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil  # noqa: E402

import small_training  # noqa: E402
from small_training import train, write_config  # noqa: E402

sys.path.append(str(small_training.ROOT / "python"))
from omnibal_scan.prepared import COLUMNS  # noqa: E402

pytestmark = small_training.NEEDS_PROGRAMS

EXACT = ["--precision", "fp64"]


def prepare(folder, samples):
    """Model, pictures and a corpus of (pictures, answer)."""
    small_training.make_model(folder / "model")
    rng = np.random.default_rng(0)
    rows = []
    for i, (pictures, answer) in enumerate(samples):
        names = [f"{i}-{k}.png" for k in range(pictures)]
        for name in names:
            Image.fromarray(rng.integers(0, 256, (40, 60, 3), dtype=np.uint8)).save(folder / name)
        question = "<image>\n" * pictures + "what is it?" + "?" * i
        rows.append({"image": names, "conversations": [{"from": "human", "value": question},
                                                       {"from": "gpt", "value": answer}]})
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "meta.json").write_text(json.dumps({"set": {"root": ".", "annotation": "rows.jsonl"}}))
    small_training.scan(folder)


def pack(folder, dp, micro_batches, *options, out="plan", token_cap=128):
    return ask("pack", "corpus", "--vision-cap", 24, "--token-cap", token_cap, "--allow-empty", "--dp", dp,
               "--micro-batches", micro_batches, *options, "--out", out, cwd=folder)


def members(folder, plan="plan"):
    """Samples of (step, micro-batch, rank)."""
    offsets, samples, steps = (np.load(folder / plan / f"{name}.npy")
                               for name in ("pack_offsets", "pack_samples", "steps"))
    return {place: [] if p < 0 else samples[offsets[p]:offsets[p + 1]].tolist()
            for place, p in np.ndenumerate(steps)}


def supervise(folder, number):
    """Leaves `number(sample, own)` of each sample's supervised tokens, the first ones."""
    corpus = folder / "corpus"
    mask, offsets, counts = (np.load(corpus / f"{name}.npy")
                             for name in ("token_supervised", "token_offsets", "supervised"))
    for sample, own in enumerate(counts):
        places = offsets[sample] + np.flatnonzero(mask[offsets[sample]:offsets[sample + 1]])
        mask[places[number(sample, int(own)):]] = 0
        counts[sample] = number(sample, int(own))
    np.save(corpus / "token_supervised.npy", mask)
    np.save(corpus / "supervised.npy", counts)
    document = json.loads((corpus / "corpus.json").read_text())
    hasher = xxhash.xxh3_128()
    for name in COLUMNS:
        hasher.update(np.load(corpus / f"{name}.npy").tobytes())
    document["hash"] = hasher.hexdigest()
    (corpus / "corpus.json").write_text(json.dumps(document))


def weights_of(folder, name="checkpoints"):
    model = InternVLForConditionalGeneration.from_pretrained(folder / name / "model", dtype=torch.float64)
    return model.state_dict()


def assert_equal_weights(found, expected, tolerance):
    for name, weight in expected.items():
        assert (found[name] - weight).norm() <= tolerance * weight.norm() + 1e-12, name


def train_in(folder, name, *flags, np=0):
    """The rows of a training of its own folder of checkpoints and log."""
    write_config(folder, **{"checkpoint.dir": name, "log": f"{name}.jsonl", "optimizer.schedule": "constant"})
    (folder / "log.jsonl").write_text("")
    train(folder, *flags, np=np)
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


def assert_as_one_process(folder, layouts, *flags, loss=1e-12, norm=1e-9):
    one = train_in(folder, "one", "--dp", 1, *flags)
    for ranks, *layout in layouts:
        rows = train_in(folder, f"on-{ranks}", *layout, *flags, np=ranks)
        for key, tolerance in (("loss", loss), ("gradient_norm", norm)):
            assert [row[key] for row in rows] == pytest.approx([row[key] for row in one], rel=tolerance)
        assert [row["supervised"] for row in rows] == [row["supervised"] for row in one]
    return one


@pytest.mark.parametrize("silent", ["micro-batch", "rank", "step"])
def test_nothing_supervised_adds_exactly_nothing(tmp_path, silent):  # T01
    prepare(tmp_path, [(i % 2, "it is " + "ab"[i % 2] * i) for i in range(8)])
    pack(tmp_path, 2, 2, "--max-samples", 1)
    places = members(tmp_path)
    quiet = {"micro-batch": lambda place: place[:2] == (0, 0), "rank": lambda place: place[0] == 0 and place[2] == 1,
             "step": lambda place: place[0] == 0}[silent]
    chosen = {sample for place, samples in places.items() if quiet(place) for sample in samples}
    supervise(tmp_path, lambda sample, own: 0 if sample in chosen else own)
    pack(tmp_path, 2, 2, "--max-samples", 1)
    assert members(tmp_path) == places
    rows = assert_as_one_process(tmp_path, [(2, "--dp", 2)], *EXACT)
    counts = np.load(tmp_path / "corpus" / "supervised.npy")
    for row, step in zip(rows, range(2), strict=True):
        assert row["supervised"] == sum(counts[s] for place, samples in places.items() if place[0] == step
                                        for s in samples)
        assert np.isfinite(row["loss"])
    if silent == "step":
        assert rows[0]["loss"] == rows[0]["gradient_norm"] == rows[0]["supervised"] == 0


def test_a_rank_of_one_supervised_token_weighs_that_much(tmp_path):  # T02
    prepare(tmp_path, [(0, "a"), (0, "b" * 4000)])
    supervise(tmp_path, lambda sample, own: 1 if sample == 0 else 4000)
    pack(tmp_path, 2, 1, "--max-samples", 1, token_cap=4200)
    rows = assert_as_one_process(tmp_path, [(2, "--dp", 2)], "--steps", 2, "--precision", "fp32", loss=1e-6, norm=1e-6)
    assert [row["supervised"] for row in rows] == [4001, 4001]


def test_ranks_of_text_and_of_pictures_alone(tmp_path):  # T03
    prepare(tmp_path, [(0, "only words, and many of them"), (2, "a picture")])
    pack(tmp_path, 2, 1, "--max-samples", 1, "--tail", "drop")  # other tails keep the two apart
    assert sorted(members(tmp_path).values()) == [[0], [1]]
    assert_as_one_process(tmp_path, [(4, "--dp", 2, "--tp", 2), (4, "--dp", 2, "--pp", 2, "--schedule", "1f1b")],
                          "--steps", 3, *EXACT)


def reference_losses(folder, steps):
    """Of an ordinary training with transformers and PyTorch, a sample a micro-batch."""
    model = InternVLForConditionalGeneration.from_pretrained(folder / "model", dtype=torch.float32).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0)
    processor = GotOcr2ImageProcessorPil.from_pretrained(folder / "model")
    ids, offsets, mask = (np.load(folder / "corpus" / f"{name}.npy")
                          for name in ("token_ids", "token_offsets", "token_supervised"))
    pictures = [json.loads(line)["image"] for line in (folder / "rows.jsonl").read_text().splitlines()]
    losses = []
    for step in steps:
        count = sum(int(mask[offsets[s]:offsets[s + 1]].sum()) for s in step)
        total = 0.0
        for s in step:
            own = torch.from_numpy(ids[offsets[s]:offsets[s + 1]].astype(np.int64))[None]
            labels = torch.where(torch.from_numpy(mask[offsets[s]:offsets[s + 1]] > 0)[None], own, -100)
            images = [Image.open(folder / name) for name in pictures[s]]
            cap = max(1, small_training.PROCESSOR["max_patches"] // max(1, len(images)))
            pixels = torch.cat([processor(image, max_patches=cap, return_tensors="pt")["pixel_values"]
                                for image in images]) if images else None
            loss = model(input_ids=own, pixel_values=pixels, labels=labels, num_items_in_batch=count,
                         use_cache=False).loss
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(total)
    return losses


def test_a_sample_a_pack_is_ordinary_training(tmp_path):  # T05
    prepare(tmp_path, [(i % 3, "it is " + "abc"[i % 3] * (1 + i)) for i in range(12)])
    pack(tmp_path, 1, 4, "--max-samples", 1)
    places = members(tmp_path)
    steps = [[s for m in range(4) for s in places[step, m, 0]] for step in range(3)]
    rows = train_in(tmp_path, "ours", "--precision", "fp32")
    assert [row["loss"] for row in rows] == pytest.approx(reference_losses(tmp_path, steps), rel=1e-5)


def test_packs_of_odd_lengths_in_tensor_groups(tmp_path):  # T07
    prepare(tmp_path, [(i % 2, "a" * (1 + i)) for i in range(6)])
    pack(tmp_path, 1, 2, "--max-samples", 1)
    tokens = np.load(tmp_path / "corpus" / "tokens.npy")
    assert len({int(length) % 6 for length in tokens}) > 3  # of 2 and of 3
    rows = assert_as_one_process(tmp_path, [(2, "--dp", 1, "--tp", 2), (3, "--dp", 1, "--tp", 3)], *EXACT)
    for row in rows:
        assert row["token_capacity"] == 2 * 128 > row["tokens"]  # the rest is counted as padding


@pytest.mark.parametrize("mode", ["token", "sample", "square-root"])
def test_however_samples_are_packed(tmp_path, mode):  # T08
    prepare(tmp_path, [(1 + i % 2, "ab"[i % 2] * (1 + 7 * i)) for i in range(4)])
    pack(tmp_path, 1, 1, token_cap=512)
    one = train_in(tmp_path, "together", *EXACT, "--loss", mode)
    assert len(members(tmp_path)) == 1
    pack(tmp_path, 1, 4, "--max-samples", 1)
    pack(tmp_path, 4, 1, "--max-samples", 1, out="spread")
    accumulated = train_in(tmp_path, "accumulated", *EXACT, "--loss", mode)
    spread = train_in(tmp_path, "spread-out", *EXACT, "--loss", mode, "--plan", "spread", np=4)
    for rows, name in ((accumulated, "accumulated"), (spread, "spread-out")):
        assert rows[0]["loss"] == pytest.approx(one[0]["loss"], rel=1e-12)
        assert rows[0]["gradient_norm"] == pytest.approx(one[0]["gradient_norm"], rel=1e-9)
        assert_equal_weights(weights_of(tmp_path, name), weights_of(tmp_path, "together"), 1e-9)


def test_padding_and_tiles_are_told(tmp_path):  # T19
    prepare(tmp_path, [(1, "a" * 5), (1, "b" * 5)])
    pack(tmp_path, 1, 2, "--max-samples", 1)
    write_config(tmp_path)
    done = subprocess.run([small_training.TRAINER, "--config", "train.toml"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    useful, padded, tiles = re.search(r"(\d+) tokens/s \((\d+) with padding\)  tiles (\d+) % full",
                                      done.stderr).groups()
    row = json.loads((tmp_path / "log.jsonl").read_text())
    assert int(useful) / int(padded) == pytest.approx(row["tokens"] / (2 * 128), rel=0.05)
    assert int(tiles) == pytest.approx(100 * row["tiles"] / (2 * 24), abs=1)


def is_saving(folder):
    """A checkpoint under its temporary name is there."""
    return any(not entry.name.startswith(("step-", "model", "status"))
               for entry in os.scandir(folder / "checkpoints"))


def kill_while_saving(folder, ranks, patience):
    """Whether the training was killed, with all its ranks, while a checkpoint lay unfinished."""
    process = subprocess.Popen([small_training.TRAINER, "--config", "train.toml", "--dp", str(max(1, ranks)),
                                *(["--np", str(ranks)] if ranks else [])], cwd=folder, start_new_session=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + patience
    while process.poll() is None and time.monotonic() < until:
        if (folder / "checkpoints").exists() and is_saving(folder):
            break
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return is_saving(folder)


@pytest.mark.parametrize("ranks", [0, 2])
def test_killed_in_the_middle_of_a_save(tmp_path, ranks):
    prepare(tmp_path, [(i % 2, "ab"[i % 2] * (1 + i)) for i in range(8)])
    pack(tmp_path, 2, 2, "--max-samples", 1)
    flags = [*EXACT, "--steps", 30]
    layout = ["--dp", max(1, ranks)]
    expected = train_in(tmp_path, "whole", *flags, *layout, np=ranks)
    write_config(tmp_path, precision="fp64", steps=30, **{"checkpoint.every": 1, "optimizer.schedule": "constant"})
    draw = random.Random(ranks)
    interrupted = sum(kill_while_saving(tmp_path, ranks, 2 + draw.random()) for _ in range(4))
    assert interrupted > 0
    _, rows = train(tmp_path, *layout, np=ranks)
    assert [row["loss"] for row in rows] == [row["loss"] for row in expected]
    found, whole = weights_of(tmp_path), weights_of(tmp_path, "whole")
    assert all(torch.equal(found[name], weight) for name, weight in whole.items())
