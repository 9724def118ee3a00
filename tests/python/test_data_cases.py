# SPDX-License-Identifier: Apache-2.0
"""Small inputs that break other packers, and a million samples, through the program."""
import json
import sys

import pytest

from conftest import PROGRAM, ROOT, ask, refuse, write_lengths

sys.path.insert(0, str(ROOT / "tests" / "reference"))
from peak_memory import measured  # noqa: E402

CAPS = ["--vision-cap", 9, "--token-cap", 4096]


def test_D01_heavy_samples_first_in_the_file(tmp_path):
    """An eighth of the samples fills a pack alone, nine of the others fill one. Contiguous blocks,
    the naive order, give one rank of eight all of the heavy ones."""
    lengths = write_lengths(tmp_path / "lengths.json", [(9, 2600, 9)] * 1000 + [(1, 300, 1)] * 7000)
    rows = {row["method"]: row for row in ask("compare", lengths, *CAPS, "--dp", 8)["rows"]}
    naive, packed, formed = (rows[method]["dist_ratio"] for method in ("random", "isf", "omnibal"))
    assert naive["vision"] > 0.7 and naive["time"] > 0.7
    assert formed["vision"] <= 0.001 and formed["tokens"] <= 0.001
    assert formed["attention"] <= 0.005 and formed["time"] <= 0.001
    assert packed["attention"] > 0.3  # the same packs in random order


def test_D05_a_limit_of_60_tokens_packs_ten_samples(tmp_path):
    lengths = write_lengths(tmp_path / "lengths.json", [(0, 6 + 5 * i, 0) for i in range(10)])
    answer = ask("pack", lengths, "--vision-cap", 9, "--token-cap", 60, "--dp", 2)
    assert (answer["placed"], answer["rejected"], answer["over_cap"]) == (10, 0, 0)
    assert 5 <= answer["packs"] <= 9  # 285 tokens


def test_D05_a_limit_below_every_sample_says_so(tmp_path):
    lengths = write_lengths(tmp_path / "lengths.json", [(0, 61 + i, 0) for i in range(10)])
    error = refuse(3, "pack", lengths, "--vision-cap", 9, "--token-cap", 60)
    assert error["code"] == "nothing_usable" and "0 of 10 samples" in error["message"]
    assert (error["value"], error["limit"]) == (61, 60) and "cap" in error["hint"]


@pytest.fixture(scope="module")
def million(tmp_path_factory):
    corpus = tmp_path_factory.mktemp("million") / "corpus"
    assert ask("synth", "--preset", "internvl-1.2m", "--samples", 1_000_000, "--out",
               corpus)["samples"] == 1_000_000
    return corpus


@pytest.mark.parametrize("method, vision_cap", [("isf", 9), ("isf", 15), ("auto", 15)])
def test_L23_a_million_samples_are_all_there_in_bounded_memory(million, tmp_path, method, vision_cap):
    output, peak_mib = measured([PROGRAM, "pack", million, "--vision-cap", vision_cap, "--token-cap",
                                 4096, "--dp", 8, "--method", method, "--out", tmp_path / "plan",
                                 "--json", "--quiet"])
    answer = json.loads(output)
    assert answer["samples"] == answer["placed"] + answer["rejected"] == 1_000_000
    assert answer["over_cap"] == answer["duplicated"] == 0
    assert answer["packs"] <= 1.03 * answer["lower_bound"]
    assert answer["seconds"] >= answer["pack_seconds"] >= answer["step_seconds"] > 0
    assert peak_mib < 100  # about 100 bytes a sample, the program's own memory included
