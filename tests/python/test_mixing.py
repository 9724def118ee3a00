# SPDX-License-Identifier: Apache-2.0
"""Several sources: fractional repeats, weights, temperatures, and the mix that comes out."""
import json
import shutil

import numpy as np
import pytest

from conftest import ask, refuse, run, write_lengths

CAPS = ["--vision-cap", 9, "--token-cap", 4096]
STEPS = ["--dp", 2, "--micro-batches", 2]


def read(plan):
    arrays = {path.stem: np.load(path) for path in plan.glob("*.npy")}
    return json.loads((plan / "plan.json").read_text()), arrays


def wrapper(folder, datasets, name="w.json"):
    """A wrapper of {name: (rows, keys)}."""
    document = {}
    for source, (rows, keys) in datasets.items():
        write_lengths(folder / f"{source}.json", rows)
        document[source] = {"token_lengths": f"{source}.json", **keys}
    (folder / name).write_text(json.dumps(document))
    return folder / name


@pytest.fixture
def three(tmp_path):
    """D11: three sources of very different sizes and numbers of tiles."""
    return [write_lengths(tmp_path / "text.json", [(0, 200 + i % 50, 0) for i in range(300)]),
            write_lengths(tmp_path / "photo.json", [(1, 300 + i % 300, 1) for i in range(1200)]),
            write_lengths(tmp_path / "document.json",
                          [(9, 2400 + 10 * (i % 90), 9) for i in range(500)])]


WEIGHTS = ["--weights", "text=0.3,photo=0.3,document=0.4"]


def test_d11_the_mix_in_samples_tokens_and_tiles(three, tmp_path):
    answer = ask("pack", *three, *CAPS, *STEPS, *WEIGHTS, "--out", tmp_path / "plan")
    assert answer["samples"] == 2000 == answer["placed"] + answer["rejected"]
    document, arrays = read(tmp_path / "plan")
    assert document["mix"] == answer["mix"]
    rows = answer["mix"]["sources"]
    assert [row["samples"] for row in rows] == [600, 600, 800]
    assert [row["given"] for row in rows] == [300, 1200, 500]
    assert [row["left_out"] for row in rows] == [0, 600, 0]
    assert [row["weight"] for row in rows] == [0.3, 0.3, 0.4]
    assert [row["repeat"] for row in rows] == [2, 0.5, 1.6]
    for s, row in enumerate(rows):
        own = arrays["sample_source"] == s
        for key, column in (("samples", np.ones(len(own), np.int64)),
                            ("vision_units", arrays["sample_vision"].astype(np.int64)),
                            ("tokens", arrays["sample_tokens"].astype(np.int64))):
            assert row[key] == column[own].sum()
            assert row["share"][key] == pytest.approx(column[own].sum() / column.sum())
            assert row["placed"][key] == row[key]
    assert ask("verify", tmp_path / "plan")["ok"]
    text = run("pack", *three, *CAPS, *STEPS, *WEIGHTS).stdout
    assert "of tokens" in text and "document" in text and "dealt at random" in text


def test_the_mix_of_every_step(three, tmp_path):
    answer = ask("pack", *three, *CAPS, *STEPS, *WEIGHTS, "--window", 6, "--out",
                 tmp_path / "plan")
    _, arrays = read(tmp_path / "plan")
    steps, offsets = arrays["steps"], arrays["pack_offsets"]
    expected = np.zeros((len(steps), 3, 3), np.int64)
    for t, packs in enumerate(steps):
        for pack in packs[packs >= 0]:
            for i in arrays["pack_samples"][offsets[pack]:offsets[pack + 1]]:
                expected[t, arrays["sample_source"][i]] += (
                    1, arrays["sample_vision"][i], arrays["sample_tokens"][i])
    assert arrays["step_mix"].dtype == np.int64
    np.testing.assert_array_equal(arrays["step_mix"], expected)
    mix = answer["steps"]["source_mix"]
    whole = expected[[(packs >= 0).all() for packs in steps]]
    assert mix["steps"]["count"] == len(whole)
    assert mix["windows"]["steps"] == 3  # 6 groups of packs, 2 micro-batches a step
    together = whole[:len(steps) // 3 * 3]
    together = together[:len(together) // 3 * 3].reshape(-1, 3, 3, 3).sum(1)
    for level, groups in (("steps", whole), ("windows", together)):
        for key, at in (("samples", 0), ("tokens", 2)):
            shares = groups[:, :, at] / groups[:, :, at].sum(1, keepdims=True)
            told = [source[level][key] for source in mix["sources"]]
            for name, values in (("mean", shares.mean(0)), ("std", shares.std(0)),
                                 ("min", shares.min(0)), ("max", shares.max(0))):
                assert [row[name] for row in told] == pytest.approx(list(values), abs=1e-7)


def test_released_fault_offsets_with_three_sources(tmp_path):
    """There, one of three or more sets was trained twice and another never."""
    path = wrapper(tmp_path, {
        "a": ([(1, 300 + i, 1) for i in range(40)], {}),
        "b": ([(2, 700 + i, 2) for i in range(25)], {"repeat": 2}),
        "c": ([(3, 1100 + i, 3) for i in range(30)], {}),
        "d": ([(4, 1500 + i, 4) for i in range(8)], {"repeat": 1.5})})
    ask("pack", path, *CAPS, *STEPS, "--out", tmp_path / "plan")
    _, arrays = read(tmp_path / "plan")
    first = np.array([300, 700, 1100, 1500])
    placed = arrays["pack_samples"]
    assert len(set(placed)) == 40 + 50 + 30 + 12
    source, row = arrays["sample_source"][placed], arrays["sample_row"][placed]
    np.testing.assert_array_equal(arrays["sample_tokens"][placed], first[source] + row)
    for s, (rows, repeat) in enumerate([(40, 1), (25, 2), (30, 1)]):
        assert sorted(row[source == s]) == sorted(list(range(rows)) * repeat)
    times = np.bincount(row[source == 3], minlength=8)
    assert times.sum() == 12 and set(times) == {1, 2}


def test_l27_two_wrappers_of_one_list(tmp_path):
    """Grouped, sequence-parallel 2: each sample once, none of them for each of two ranks."""
    rows = [(3, 1500, 3)] * 40
    first = wrapper(tmp_path, {"first": (rows, {})})
    (tmp_path / "v.json").write_text(json.dumps({"second": {"token_lengths": "first.json"}}))
    answer = ask("pack", first, tmp_path / "v.json", *CAPS, *STEPS, "--tp", 2, "--out",
                 tmp_path / "plan")
    assert answer["samples"] == answer["placed"] == 80 and answer["duplicated"] == 0
    _, arrays = read(tmp_path / "plan")
    pairs = set(zip(arrays["sample_source"][arrays["pack_samples"]].tolist(),
                    arrays["sample_row"][arrays["pack_samples"]].tolist()))
    assert pairs == {(s, r) for s in range(2) for r in range(40)}
    ids = arrays["steps"].ravel()
    assert sorted(ids[ids >= 0]) == list(range(answer["packs"]))


@pytest.mark.parametrize("repeat, samples", [(0.5, 50), (2.3, 230), (1, 100), (0.004, None)])
def test_a_fractional_repeat(tmp_path, repeat, samples):
    path = wrapper(tmp_path, {"a": ([(1, 300 + i, 1) for i in range(100)], {"repeat": repeat})})
    if samples is None:
        assert refuse(3, "pack", path, *CAPS)["code"] == "nothing_usable"
        return
    answer = ask("pack", path, *CAPS, "--out", tmp_path / "plan")
    assert answer["placed"] + answer["rejected"] == answer["samples"] == samples
    _, arrays = read(tmp_path / "plan")
    times = np.bincount(arrays["sample_row"], minlength=100)
    assert set(times) <= {int(repeat), int(repeat) + 1}
    source = ask("stats", path)["sources"][0]
    assert source == {"name": "a", "samples": samples, "weight": 1, "repeat": repeat,
                      "given": 100, "left_out": max(0, 100 - samples)}
    assert ask("verify", tmp_path / "plan")["ok"]


def test_draws_follow_the_seed_and_nothing_else(three, tmp_path):
    def rows(*flags):
        ask("pack", *three, *CAPS, *WEIGHTS, *flags, "--out", tmp_path / "plan")
        return read(tmp_path / "plan")[1]["sample_row"].tolist()
    assert rows() == rows("--threads", 1) == rows("--threads", 64)
    assert rows() != rows("--seed", 1)
    assert len(rows()) == len(rows("--seed", 1))
    assert ask("verify", tmp_path / "plan")["ok"]


def test_verify_draws_again(three, tmp_path):
    plan = tmp_path / "plan"
    ask("pack", *three, *CAPS, "--temperature", 3, "--epoch-samples", 900, "--seed", 5, "--out",
        plan)
    checks = {check["name"]: check for check in ask("verify", plan)["checks"]}
    assert checks["inputs"]["detail"].startswith("3 input files")
    document = json.loads((plan / "plan.json").read_text())
    document["provenance"]["seed"] = 6
    (plan / "plan.json").write_text(json.dumps(document))
    done = run("verify", plan, "--ignore-checksums", "--json")
    assert [c["name"] for c in json.loads(done.stdout)["checks"] if not c["ok"]] == ["inputs"]


@pytest.mark.parametrize("flags, value", [
    (["--weights", "text=0"], 0), (["--weights", "text=-1"], -1), (["--weights", "txt=1"], 1),
    (["--weights", "text"], "text"), (["--weights", "text=much"], "text=much"),
    (["--temperature", "0"], 0), (["--temperature", "-2"], -2), (["--temperature", "nan"], "nan"),
    (["--epoch-samples", "0"], "0"), (["--weights", "text=nan"], None)])
def test_wrong_mixtures_are_wrong_usage(three, flags, value):
    error = refuse(2, "pack", *three, *CAPS, *flags)
    assert value is None or error["value"] == value
    assert error["where"]["key"] and error["hint"]


def test_an_unknown_source_is_named_before_lists_are_read(three, tmp_path):
    three[2].write_text("no list at all")
    error = refuse(2, "pack", *three, *CAPS, "--weights", "documents=2")
    assert '"document"' in error["message"]


def test_a_plan_of_other_weights_is_stale(three, tmp_path):
    flags = ["pack", *three, *CAPS, "--reuse", "--out", tmp_path / "plan"]
    ask(*flags, *WEIGHTS)
    ask(*flags, *WEIGHTS)
    assert refuse(3, *flags)["code"] == "stale_plan"


def test_a_mixed_corpus_is_not_repeated_twice(internvl_corpus, tmp_path):
    """Flags weigh the sources of a corpus directory too; what a directory says is in it already."""
    answer = ask("stats", internvl_corpus, "--temperature", 2, "--epoch-samples", 100000)
    assert answer["samples"] == 100000
    given = sum(source["given"] for source in answer["sources"])
    assert given == 1267819
    copy = tmp_path / "corpus"
    shutil.copytree(internvl_corpus, copy)
    document = json.loads((copy / "corpus.json").read_text())
    document["sources"][0].update({"repeat": 3.0, "weight": 0.25})
    (copy / "corpus.json").write_text(json.dumps(document))
    source = ask("stats", copy)["sources"][0]
    assert source["samples"] == document["sources"][0]["samples"]
    assert source["repeat"] == 3 and source["weight"] == 0.25
