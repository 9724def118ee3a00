# SPDX-License-Identifier: Apache-2.0
"""What users script against: help, exit codes, error objects, --config, stdin, completion."""
import json
import os
import signal
import subprocess
import time

import pytest

from conftest import PAPER_PLAN, PROGRAM, ROOT, W_PROFILE, ask, refuse, run, write_lengths

COMMANDS = ["synth", "stats", "pack", "compare", "profile", "partition", "plan", "verify",
            "simulate"]
CAPS = ["--vision-cap", "9", "--token-cap", "4096"]


@pytest.fixture
def lengths(tmp_path):
    return write_lengths(tmp_path / "lengths.json", [(1, 300 + i % 7, 1) for i in range(100)])


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_a_manual_page(command):
    done = run(command, "--help")
    assert done.returncode == 0
    for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "FLAGS", "EXIT STATUS", "EXAMPLES"):
        assert f"\n{section}\n" in "\n" + done.stdout
    assert f"omnibal {command} " in done.stdout.split("EXAMPLES")[1]


def test_examples_of_help_name_real_flags():
    for command in COMMANDS:
        page = run(command, "--help").stdout
        flags, examples = page.split("EXAMPLES")
        for word in examples.split():
            if word.startswith("--"):
                assert word in flags.split(), (command, word)


def test_the_reference_is_current():
    assert run("reference").stdout == (ROOT / "docs" / "commands.md").read_text()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command(shell):
    script = run("completion", shell).stdout
    assert all(command in script for command in COMMANDS)


def test_bash_completion_works():
    script = ("source <(\"$0\" completion bash); COMP_WORDS=(omnibal pack --met); COMP_CWORD=2;"
              "_omnibal; echo ${COMPREPLY[@]};"
              "COMP_WORDS=(omnibal pack --method is); COMP_CWORD=3; _omnibal; echo ${COMPREPLY[@]}")
    done = subprocess.run(["bash", "-c", script, PROGRAM], capture_output=True, text=True)
    assert done.stdout.split() == ["--method", "isf"], done.stderr


def test_json_answers_say_what_they_are(lengths):
    answer = ask("stats", lengths)
    assert answer["command"] == "stats" and answer["version"] and answer["seconds"] >= 0


@pytest.mark.parametrize("arguments", [
    ["pakc"], ["pack"], ["pack", "x.json", "--no-such-flag"], ["pack", "x.json", "--rounds", "0"],
    ["pack", "x.json", "--rounds", "-1"], ["pack", "x.json", "--rounds", "many"],
    ["pack", "x.json", "--method", "magic"], ["plan", "x.json"], ["--seed", "1"],
    ["pack", "x.json", "--seed", "-1"], ["completion", "tcsh"], ["verify"],
    ["partition", "x.json", "--pp", "0"], ["simulate", "--schedule", "2f2b"],
    ["partition", "x.json", "--pp", "4", "--memory", "many"]])
def test_wrong_usage_is_exit_code_2(arguments):
    error = refuse(2, *arguments)
    assert error["message"] and error["code"]


def test_a_typing_error_gets_a_suggestion():
    assert "pack" in refuse(2, "pakc")["hint"]
    assert "a100-80g" in refuse(3, "profile", "--model", "internvl-chat-1.5-26b", "--cluster",
                                "a100-80", "--out", "p.json")["hint"]


def test_the_error_object_names_the_place(tmp_path):
    bad = write_lengths(tmp_path / "bad.json", [(1, 300, 1)] * 3 + [(1, 5000, 1)])
    error = refuse(3, "pack", bad, *CAPS, "--over-long", "error")
    assert error["code"] == "token_cap_exceeded"
    assert error["value"] == 5000 and error["limit"] == 4096
    assert error["where"]["row"] == 3 and error["hint"]


@pytest.mark.parametrize("content", ["", "[]", "{}", "[{}]", "{", "[1]", "null", "\0\0"])
def test_bad_input_writes_nothing(tmp_path, content):
    bad = tmp_path / "bad.json"
    bad.write_text(content)
    refuse(3, "pack", bad, *CAPS, "--out", tmp_path / "plan")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.json"]


def test_a_missing_file(tmp_path):
    assert refuse(3, "stats", tmp_path / "none.json")["code"] == "file_not_found"


def test_gpus_that_are_no_product(lengths):
    error = refuse(2, "plan", lengths, "--model", "internvl-chat-1.5-26b", "--cluster",
                   "a100-80g", "--gpus", "60", "--tp", "2", "--pp", "4", "--dp", "8", *CAPS,
                   "--dry-run")
    assert "64" in error["message"] + error["hint"]


def test_memory_that_cannot_suffice_is_exit_code_4():
    error = refuse(4, "partition", W_PROFILE, "--pp", 4, "--micro-batches", 8, "--memory", "10GB")
    assert "stage" in error["message"] and error["hint"]


def test_more_stages_than_layers_is_exit_code_4():
    refuse(4, "partition", W_PROFILE, "--pp", 97, "--micro-batches", 8)


def test_config_takes_any_flag_and_the_command_line_wins(lengths, tmp_path):
    config = tmp_path / "omnibal.toml"
    config.write_text('seed = 5\n[pack]\nvision-cap = 9\ntoken-cap = 4096\nrounds = 3\n'
                      '[partition]\npp = 4\n')
    by_file = ask("pack", lengths, "--config", config)
    assert by_file["limits"]["rounds"] == 3 and by_file["limits"]["vision_cap"] == 9
    assert ask("pack", lengths, "--config", config, "--rounds", 4)["limits"]["rounds"] == 4


def test_config_with_an_unknown_key_is_refused(lengths, tmp_path):
    config = tmp_path / "omnibal.toml"
    config.write_text("[pack]\nvision-gap = 9\n")
    refuse(2, "pack", lengths, *CAPS, "--config", config)


def test_config_knows_common_flags_in_a_table_and_suggests_names(lengths, tmp_path):
    config = tmp_path / "omnibal.toml"
    config.write_text("[pack]\nseed = 7\nvision-cap = 9\ntoken-cap = 4096\n")
    ask("pack", lengths, "--config", config, "--out", tmp_path / "plan")
    assert json.loads((tmp_path / "plan" / "plan.json").read_text())["provenance"]["seed"] == 7
    config.write_text("[pack]\nvison-cap = 9\n")
    error = refuse(2, "pack", lengths, "--config", config)
    assert "vision-cap" in error["hint"] and error["where"]["key"] == "pack.vison-cap"


def test_config_may_give_required_flags(tmp_path):
    config = tmp_path / "omnibal.toml"
    config.write_text("[partition]\npp = 4\nmicro-batches = 8\n")
    assert len(ask("partition", W_PROFILE, "--config", config)["cuts"]) == 3


@pytest.mark.parametrize("content, code", [
    ("[pack]\nrounds = [1, 2]\n", 2), ("[pack]\nrounds = {a = 1}\n", 2), ("[pack\n", 3),
    ("[pack]\nrounds = 1\n[pack]\nrounds = 2\n", 3), ("[pakc]\n", 2), ("[pack]\nrounds = 'x'", 2)])
def test_config_that_is_wrong(lengths, tmp_path, content, code):
    config = tmp_path / "omnibal.toml"
    config.write_text(content)
    refuse(code, "pack", lengths, *CAPS, "--config", config)


def test_config_that_is_no_file_never_hangs(lengths, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, "/dev/zero", tmp_path / "none.toml"):
        refuse(3, "pack", lengths, *CAPS, "--config", path)


def test_output_that_cannot_be_written_is_an_error(lengths):
    with open("/dev/full", "w") as full:
        done = subprocess.run([PROGRAM, "stats", lengths, "--json"], stdout=full,
                              stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "standard output" in done.stderr


def test_an_empty_output_name_is_refused(lengths):
    refuse(2, "pack", lengths, *CAPS, "--out", "")


def test_verbose_says_what_is_done(lengths):
    assert "forming steps" in run("pack", lengths, *CAPS, "--dp", 8, "--verbose").stderr


def test_sizes_that_overflow_are_refused(lengths):
    flags = ["plan", lengths, "--model", "internvl-chat-1.5-26b", "--cluster", "a100-80g",
             "--gpus", "64", *CAPS, "--dry-run"]
    refuse(2, *flags, "--tp", 2**32, "--pp", 2**32)
    refuse(2, *flags, "--tp", 2, "--pp", 4, "--micro-batch", 2**62)
    refuse(2, *flags, "--tp", 2, "--pp", 4, "--micro-batch", 2**20)


def test_a_profile_of_another_model_is_refused(lengths):
    error = refuse(2, "plan", lengths, "--model", "internvit-300m+qwen2.5-0.5b", "--cluster",
                   "a100-80g", "--gpus", 8, "--tp", 1, "--pp", 4, "--global-batch", 64, *CAPS,
                   "--profile", W_PROFILE, "--dry-run")
    assert "96" in error["value"]


def test_names_that_are_no_utf8(tmp_path):
    odd = os.fsencode(tmp_path) + b"/bad\xff.json"
    rows = [{"vit_num": 1, "token_num": tokens, "image_flags": 1} for tokens in (600, 5000)]
    with open(odd, "w") as file:
        json.dump(rows, file)
    done = subprocess.run([PROGRAM, "pack", odd, *CAPS, "--out", tmp_path / "plan"],
                          capture_output=True)
    assert done.returncode == 0, done.stderr
    assert ask("verify", tmp_path / "plan")["ok"]


def test_input_from_stdin(lengths):
    from_file = ask("pack", lengths, *CAPS)
    from_stdin = ask("pack", "-", *CAPS, stdin=lengths.read_text())
    assert from_stdin["packs"] == from_file["packs"]
    lines = "\n".join(json.dumps(row) for row in json.loads(lengths.read_text()))
    assert ask("pack", "-", *CAPS, stdin=lines)["packs"] == from_file["packs"]


def test_several_inputs_are_several_sources(lengths, tmp_path):
    other = write_lengths(tmp_path / "other.json", [(3, 900, 3)] * 5)
    sources = ask("stats", lengths, f"second={other}")["sources"]
    assert [(source["name"], source["samples"]) for source in sources] == [
        ("lengths", 100), ("second", 5)]


def test_foreign_directories_are_not_overwritten(lengths, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.txt").write_text("years of work")
    assert refuse(1, "pack", lengths, *CAPS, "--out", home)["code"] == "would_overwrite"
    assert (home / "thesis.txt").read_text() == "years of work"


def test_inputs_are_never_replaced_by_outputs(lengths, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "lengths.json").write_text(lengths.read_text())
    assert refuse(1, "pack", home / "lengths.json", *CAPS, "--out", home)["code"] == (
        "would_overwrite")
    corpus = tmp_path / "corpus"
    ask("synth", "--preset", "lcs-558k", "--samples", 50, "--out", corpus)
    assert refuse(1, "pack", corpus, *CAPS, "--out", corpus)["code"] == "would_overwrite"


def test_a_plan_is_replaced_by_a_newer_one(lengths, tmp_path):
    out = tmp_path / "plan"
    ask("pack", lengths, *CAPS, "--out", out)
    ask("pack", lengths, *CAPS, "--dp", 8, "--micro-batches", 1, "--out", out)
    assert (out / "steps.npy").exists() and ask("verify", out)["ok"]


def test_killed_while_writing_leaves_the_old_plan(small_corpus, tmp_path):
    """Kills the program at many moments: the plan is the old one or the new one, always whole."""
    out = tmp_path / "plan"
    flags = [str(PROGRAM), "plan", str(small_corpus), *PAPER_PLAN, "--out", str(out), "--quiet"]
    began = time.monotonic()
    subprocess.run(flags, check=True, capture_output=True)
    duration = time.monotonic() - began
    for step in range(12):
        process = subprocess.Popen([*flags, "--seed", str(step + 1)], stdout=subprocess.DEVNULL)
        time.sleep(duration * (step + 1) / 12)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert ask("verify", out)["ok"]
    subprocess.run(flags, check=True, capture_output=True)
    assert os.listdir(tmp_path) == ["plan"]


def test_quiet_is_quiet(lengths):
    assert run("pack", lengths, *CAPS, "--quiet").stderr == ""
