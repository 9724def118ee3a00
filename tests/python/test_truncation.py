# SPDX-License-Identifier: Apache-2.0
"""--over-long truncate: text is cut where media and a supervised token stay, and the cut is told."""
import json

import numpy as np
import pytest

from conftest import ask, refuse, run, write_lengths

CAPS = ["--vision-cap", 9, "--token-cap", 4096]
STEPS = ["--dp", 2, "--micro-batches", 2]
A14 = [(0, 5005, 0), (1, 5005, 1), (12, 6000, 12), (1, 0, 1), (0, 400, 0), (16, 5000, 16)]


def read(plan):
    arrays = {path.stem: np.load(path) for path in plan.glob("*.npy")}
    return json.loads((plan / "plan.json").read_text()), arrays


def test_a14_the_packer_charges_the_new_length(tmp_path):
    lengths = write_lengths(tmp_path / "a14.json", A14)
    answer = ask("pack", lengths, "--vision-cap", 16, "--token-cap", 4096, "--over-long",
                 "truncate", *STEPS, "--out", tmp_path / "plan")
    assert (answer["placed"], answer["rejected"], answer["truncated"]) == (4, 2, 3)
    assert answer["over_cap"] == 0
    _, arrays = read(tmp_path / "plan")
    assert arrays["sample_tokens"].tolist() == [4096, 4096, 4096, 0, 400, 5000]
    assert sorted(arrays["pack_load"][:, 1]) == [400, 4096, 4096, 4096]
    assert sorted(arrays["supervised"]) == [400, 4096 - 12 * 256, 4096 - 256, 4096]
    lines = [json.loads(line)
             for line in (tmp_path / "plan" / "truncated.jsonl").read_text().splitlines()]
    assert lines == [{"source": "a14", "row": row, "from": tokens, "to": 4096}
                     for row, tokens in ((0, 5005), (1, 5005), (2, 6000))]
    rejected = [json.loads(line)
                for line in (tmp_path / "plan" / "rejected.jsonl").read_text().splitlines()]
    assert [(line["row"], line["reason"], line["value"], line["limit"]) for line in rejected] == [
        (3, "zero_tokens", 0, 1), (5, "media", 4096, 4095)]
    assert ask("verify", tmp_path / "plan")["ok"]
    by_default = ask("pack", lengths, *CAPS)
    assert by_default["placed"] == 1 and by_default["truncated"] == 0


@pytest.fixture
def cut_plan(tmp_path):
    """A plan of 40 samples, of which 20 are cut and 4 rejected."""
    rows = ([(1, 400 + 9 * i, 1) for i in range(16)] + [(3, 4100 + i, 3) for i in range(20)] +
            [(10, 4200, 10), (1, 0, 1), (9, 2300, 9), (1, 4096, 1)])
    lengths = write_lengths(tmp_path / "lengths.json", rows)
    plan = tmp_path / "plan"
    answer = ask("pack", lengths, *CAPS, "--over-long", "truncate", *STEPS, "--out", plan)
    assert answer["truncated"] == 20 and answer["rejected"] == 2
    assert ask("verify", plan)["ok"]
    return plan


def failed(plan):
    done = run("verify", plan, "--ignore-checksums", "--json")
    return [check["name"] for check in json.loads(done.stdout)["checks"] if not check["ok"]]


@pytest.mark.parametrize("line, key, value, checks", [
    (0, "from", 4200, ["inputs"]), (0, "from", 4096, ["truncated", "inputs"]),
    (0, "to", 4000, ["truncated", "inputs"]), (3, "row", 3, ["truncated", "inputs"]),
    (3, "row", 39, ["truncated", "inputs"]), (5, "source", "other", ["truncated", "inputs"])])
def test_a_cut_that_is_not_true(cut_plan, line, key, value, checks):
    path = cut_plan / "truncated.jsonl"
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    lines[line][key] = value
    path.write_text("".join(json.dumps(text) + "\n" for text in lines))
    assert failed(cut_plan) == checks


def test_a_cut_that_is_not_told(cut_plan):
    path = cut_plan / "truncated.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[1:]) + "\n")
    assert failed(cut_plan) == ["truncated", "inputs"]
    path.unlink()
    assert failed(cut_plan) == ["truncated", "inputs"]


def test_a_cut_that_nobody_asked_for(cut_plan):
    document = json.loads((cut_plan / "plan.json").read_text())
    document["provenance"]["options"]["over_long"] = "reject"
    (cut_plan / "plan.json").write_text(json.dumps(document))
    assert failed(cut_plan) == ["inputs"]


def test_compare_counts_cut_samples(cut_plan):
    lengths = cut_plan.parent / "lengths.json"
    text = run("compare", lengths, *CAPS, "--dp", 2, "--over-long", "truncate").stdout
    assert text.startswith("38 samples")
    assert run("compare", lengths, *CAPS, "--dp", 2).stdout.startswith("18 samples")


def test_supervised_tokens_that_are_known(tmp_path):
    """Of a corpus that knows its tokens with a loss, no cut may risk the last of them."""
    corpus = tmp_path / "corpus"
    ask("synth", "--preset", "lcs-558k", "--samples", 4, "--out", corpus)
    arrays = {"vision": [1, 1, 1, 1], "dummy_vision": [0] * 4, "tokens": [5005, 5005, 600, 700],
              "supervised": [5, 4429, 24, 100]}
    for name, values in arrays.items():
        np.save(corpus / f"{name}.npy",
                np.array(values, np.uint16 if name == "dummy_vision" else np.uint32))
    document = json.loads((corpus / "corpus.json").read_text())
    document["supervised_is_estimate"] = False
    document["hash"] = refresh(corpus, document)
    (corpus / "corpus.json").write_text(json.dumps(document))
    plan = tmp_path / "plan"
    ask("pack", corpus, *CAPS, "--over-long", "truncate", "--out", plan)
    line = json.loads((plan / "rejected.jsonl").read_text())
    assert (line["row"], line["reason"], line["value"], line["limit"]) == (0, "supervised", 5, 910)
    assert np.load(plan / "supervised.npy").sum() == 4429 - 909 + 24 + 100
    assert failed(plan) == []
    line["value"] = 6
    (plan / "rejected.jsonl").write_text(json.dumps(line) + "\n")
    assert failed(plan) == ["inputs"]


def refresh(corpus, document):
    """The content hash that the program says it has found."""
    document["hash"] = "0" * 32
    (corpus / "corpus.json").write_text(json.dumps(document))
    return refuse(3, "stats", corpus)["value"]
