# SPDX-License-Identifier: Apache-2.0
"""`omnibal compare --scaling`: the same packs on 8 to 1024 ranks."""
import json

import jsonschema
import pytest

from conftest import ROOT, ask, run, write_lengths

CAPS = ["--vision-cap", 9, "--token-cap", 4096]
RANKS = [8, 16, 32, 64, 128, 256, 512, 1024]
LOADS = ("vision", "tokens", "attention", "time")


@pytest.fixture(scope="module")
def answer(small_corpus):
    return ask("compare", small_corpus, *CAPS, "--dp", 64, "--scaling")


def test_answers_as_the_schema_says(answer):
    schema = json.loads((ROOT / "schemas" / "answers.schema.json").read_text())
    jsonschema.validate(answer, {"$ref": "#/$defs/compare", "$defs": schema["$defs"]})


def test_every_method_is_dealt_to_every_number_of_ranks(answer):
    methods = [row["method"] for row in answer["rows"]]
    assert [(row["dp"], row["method"]) for row in answer["scaling"]] == [
        (dp, method) for dp in RANKS for method in methods]


def test_the_ranks_of_the_table_give_the_figures_of_the_table(answer):
    at_64 = {row["method"]: row["dist_ratio"] for row in answer["scaling"] if row["dp"] == 64}
    assert at_64 == {row["method"]: row["dist_ratio"] for row in answer["rows"]}


def test_each_number_of_ranks_is_what_a_run_of_its_own_gives(answer, small_corpus):
    alone = ask("compare", small_corpus, *CAPS, "--dp", 512)
    assert "scaling" not in alone
    at_512 = {row["method"]: row["dist_ratio"] for row in answer["scaling"] if row["dp"] == 512}
    for row in alone["rows"]:
        assert at_512[row["method"]] == row["dist_ratio"]


def test_attention_falls_apart_with_more_ranks_unless_packs_run_with_their_like(answer):
    attention = {(row["dp"], row["method"]): row["dist_ratio"]["attention"]
                 for row in answer["scaling"]}
    series = [attention[dp, "isf"] for dp in RANKS]
    assert series == sorted(series) and series[-1] > 2 * series[0]
    for dp in (8, 64):
        assert attention[dp, "omnibal"] < 0.2 * attention[dp, "isf"]


def test_more_ranks_than_packs_are_left_out_and_said(tmp_path):
    lengths = write_lengths(tmp_path / "lengths.json", [(4, 2000, 4)] * 40)  # 20 packs
    flags = [lengths, *CAPS, "--scaling"]
    scaling = ask("compare", *flags)["scaling"]
    assert {row["dp"] for row in scaling if row["method"] == "isf"} == {8, 16}
    assert {row["dp"] for row in scaling if row["method"] == "device-group"} == {8}
    done = run("compare", *flags)
    assert done.returncode == 0 and "(-: fewer packs than ranks)" in done.stdout
