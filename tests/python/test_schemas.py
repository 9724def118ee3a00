# SPDX-License-Identifier: Apache-2.0
"""Files and answers have the keys of docs/formats.md (schemas/*.schema.json)."""
import json

import jsonschema

from conftest import ROOT, W_PROFILE, ask


def check(document, name):
    schema = json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text())
    jsonschema.validate(document, schema,
                        format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)


def test_corpus_file(small_corpus):
    check(json.loads((small_corpus / "corpus.json").read_text()), "corpus")


def test_plan_file(small_plan):
    check(json.loads((small_plan / "plan.json").read_text()), "plan")


def test_profile_files(small_plan):
    check(json.loads((small_plan / "profile.json").read_text()), "profile")
    check(json.loads(W_PROFILE.read_text()), "profile")


def test_answers(small_corpus, small_plan, tmp_path):
    model = ["--model", "internvl-chat-1.5-26b", "--cluster", "a100-80g"]
    caps = ["--vision-cap", "9", "--token-cap", "4096"]
    answers = {
        "synth": ask("synth", "--preset", "lcs-558k", "--samples", "50", "--out", tmp_path / "c"),
        "stats": ask("stats", small_corpus),
        "pack": ask("pack", small_corpus, *caps, "--dp", 8, "--micro-batches", 16),
        "compare": ask("compare", small_corpus, "--dp", 8, "--micro-batch", 4),
        "profile": ask("profile", *model, "--tp", 2, "--out", tmp_path / "p.json"),
        "partition": ask("partition", W_PROFILE, "--pp", 8, "--micro-batches", 32),
        "verify": ask("verify", small_plan),
        "simulate": ask("simulate", small_plan),
    }
    schema = json.loads((ROOT / "schemas" / "answers.schema.json").read_text())
    for command, answer in answers.items():
        jsonschema.validate(answer, {"$ref": f"#/$defs/{command}", "$defs": schema["$defs"]})


def test_a_plan_has_the_paper_rows_in_order(small_plan):
    document = json.loads((small_plan / "plan.json").read_text())
    assert [row["name"] for row in document["ablation"]][:4] == [
        "baseline", "+data", "+model", "+memory"]


def test_no_measured_time_in_a_plan(small_plan):
    assert "seconds" not in (small_plan / "plan.json").read_text()
