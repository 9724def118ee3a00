# SPDX-License-Identifier: Apache-2.0
"""Files and answers have the keys of docs/formats.md (schemas/*.schema.json)."""
import json

import jsonschema
import pytest

from conftest import PAPER_PLAN, PAPER_RUN, ROOT, W_PROFILE, ask, refuse, write_lengths


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


def test_files_and_answers_with_named_choices(small_corpus, tmp_path):
    model = ["--model", "internvl-chat-1.5-26b", "--cluster", "a100-80g", "--tp", 2, "--dp", 8]
    ask("profile", *model, "--lora", "llm", "--out", tmp_path / "p.json")
    check(json.loads((tmp_path / "p.json").read_text()), "profile")
    choices = ["--memory", "42GB", "--recompute-choices", "offload"]
    answer = ask("partition", tmp_path / "p.json", "--pp", 4, "--micro-batches", 32,
                 "--memory", "30GB", "--recompute-choices", "offload")
    assert answer["recompute_choice"]
    validate_answer(answer, "partition")
    validate_answer(ask("plan", small_corpus, *PAPER_PLAN, *choices, "--out", tmp_path / "plan"),
                    "plan")
    check(json.loads((tmp_path / "plan" / "plan.json").read_text()), "plan")
    check(json.loads((tmp_path / "plan" / "profile.json").read_text()), "profile")


def validate_answer(answer, name):
    schema = json.loads((ROOT / "schemas" / "answers.schema.json").read_text())
    jsonschema.validate(answer, {"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})


def test_rejections(tmp_path):
    lengths = write_lengths(tmp_path / "lengths.json",
                            [(1, 600, 1), (1, 5000, 1), (12, 3100, 12), (1, 0, 1)])
    ask("pack", lengths, "--vision-cap", 9, "--token-cap", 4096, "--out", tmp_path / "plan")
    lines = (tmp_path / "plan" / "rejected.jsonl").read_text().splitlines()
    assert [json.loads(line)["reason"] for line in lines] == ["tokens", "vision", "zero_tokens"]
    for line in lines:
        check(json.loads(line), "rejected")


def test_truncations(tmp_path):
    lengths = write_lengths(tmp_path / "lengths.json", [(1, 600, 1), (1, 5000, 1), (16, 5000, 16)])
    ask("pack", lengths, "--vision-cap", 20, "--token-cap", 4096, "--over-long", "truncate",
        "--dp", 1, "--micro-batches", 1, "--out", tmp_path / "plan")
    for name, reason in (("truncated", None), ("rejected", "media")):
        line = json.loads((tmp_path / "plan" / f"{name}.jsonl").read_text())
        assert line.get("reason") == reason
        check(line, name)
    check(json.loads((tmp_path / "plan" / "plan.json").read_text()), "plan")


@pytest.mark.parametrize("load, allowed", [
    ({"vision_units": 9, "tokens": 4096, "token_pairs": 5000000}, True),
    ({"vision_units": 0, "tokens": 1e9, "token_pairs": 1e18}, True),
    ({"vision_units": 9, "tokens": 1.1e9, "token_pairs": 1}, False),
    ({"vision_units": 9, "tokens": 4096, "token_pairs": -1}, False),
    ({"vision_units": 9, "tokens": 4096}, False),
    ({"vision_units": 9, "tokens": 4096, "token_pairs": 1, "pairs": 1}, False),
])
def test_loads_file(tmp_path, load, allowed):
    """The schema and the program accept the same loads."""
    path = tmp_path / "loads.json"
    path.write_text(json.dumps([load]))
    command = ["simulate", "--profile", W_PROFILE, "--loads", path]
    if allowed:
        check([load], "loads")
        ask(*command)
    else:
        refuse(3, *command)
        with pytest.raises(jsonschema.ValidationError):
            check([load], "loads")


def test_the_example_of_loads_in_the_docs(tmp_path):
    page = (ROOT / "docs" / "formats.md").read_text().split("## Loads of `simulate`")[1]
    loads = json.loads(page.split("```json")[1].split("```")[0])
    check(loads, "loads")
    (tmp_path / "loads.json").write_text(json.dumps(loads))
    ask("simulate", "--profile", W_PROFILE, "--loads", tmp_path / "loads.json")


def test_errors(tmp_path, small_plan):
    validate_answer({"error": refuse(2, "pack")}, "error")
    validate_answer({"error": refuse(3, "stats", tmp_path / "none.json")}, "error")
    lengths = write_lengths(tmp_path / "lengths.json", [(1, 5000, 1)] * 3)
    full = refuse(3, "pack", lengths, "--vision-cap", 9, "--token-cap", 4096)
    assert full["code"] == "nothing_usable" and full["value"] == 5000 and full["limit"] == 4096
    validate_answer({"error": full}, "error")
    validate_answer({"error": refuse(2, "simulate", small_plan, "--step", 10**6)}, "error")
    impossible = refuse(4, "partition", W_PROFILE, "--pp", 8, "--micro-batches", 32,
                        "--memory", "1GB")
    validate_answer({"error": impossible}, "error")


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
        "plan": ask("plan", small_corpus, *PAPER_PLAN, "--dry-run"),
        "steps": ask("steps", small_plan, "--epoch", 1, "--count", 2),
        "verify": ask("verify", small_plan),
        "simulate": ask("simulate", small_plan),
    }
    for command, answer in answers.items():
        validate_answer(answer, command)


def test_answers_of_searched_plans(small_corpus, tmp_path):
    answer = ask("plan", small_corpus, *PAPER_RUN, "--layout", "auto", "--out", tmp_path / "plan")
    validate_answer(answer, "plan")
    check(json.loads((tmp_path / "plan" / "plan.json").read_text()), "plan")


@pytest.mark.parametrize("kind", ["interleaved", "zb-h1", "zb-v"])
def test_answers_of_other_schedules(small_corpus, kind, tmp_path):
    schedule = ["--schedule", kind]
    validate_answer(ask("partition", W_PROFILE, "--pp", 4, "--micro-batches", 8, *schedule), "partition")
    validate_answer(ask("plan", small_corpus, *PAPER_RUN, *schedule, "--out", tmp_path / "plan"), "plan")
    check(json.loads((tmp_path / "plan" / "plan.json").read_text()), "plan")


def test_a_plan_has_the_paper_rows_in_order(small_plan):
    document = json.loads((small_plan / "plan.json").read_text())
    assert [row["name"] for row in document["ablation"]][:4] == [
        "baseline", "+data", "+model", "+memory"]


def test_no_measured_time_in_a_plan(small_plan):
    assert "seconds" not in (small_plan / "plan.json").read_text()
