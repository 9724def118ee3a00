# SPDX-License-Identifier: Apache-2.0
"""What flags say of values and forms that they do not go with, and what warnings and texts tell."""
import json

import pytest

from conftest import W_PROFILE, ask, refuse, run
from test_command_line import CAPS, lengths  # noqa: F401 (a fixture)

SIMULATE_W = ["simulate", "--profile", W_PROFILE, "--micro-batches", 8]
PLAN_SMALL = ["--model", "internvit-300m+qwen2.5-0.5b", "--cluster", "a100-80g", "--gpus", 8, "--tp", 1,
              "--pp", 2, "--global-batch", 32, *CAPS, "--schedule", "1f1b", "--dry-run"]


@pytest.mark.parametrize("flag, arguments", [
    ("--cuts", [*SIMULATE_W, "--cuts", "0"]),
    ("--cuts", [*SIMULATE_W, "--cuts", "5,5"]),
    ("--recompute-layers", [*SIMULATE_W, "--recompute-layers", "0-200"]),
    ("--recompute-layers", [*SIMULATE_W, "--zero3", "--recompute-layers", "0-200"]),
    ("--chunks", [*SIMULATE_W, "--cuts", "20,40,60", "--schedule", "zb-v", "--chunks", 3]),
    ("--forbid-cut", ["partition", W_PROFILE, "--pp", 4, "--micro-batches", 8, "--forbid-cut", "nope"]),
    ("--keep-together", ["partition", W_PROFILE, "--pp", 4, "--micro-batches", 8,
                         "--keep-together", "nope,llm.3"]),
    ("--method", ["partition", W_PROFILE, "--pp", 4, "--micro-batches", 8, "--method", "bmp",
                  "--forbid-cut", "3"])])
def test_a_wrong_value_names_its_flag(flag, arguments):
    error = refuse(2, *arguments)
    assert error["where"] == {"key": flag} and error["code"] == "invalid_argument"


def test_a_step_that_the_plan_has_not(rejecting_plan):
    assert refuse(2, "simulate", rejecting_plan, "--step", 10**6)["where"] == {"key": "--step"}


def test_many_names_are_not_all_listed():
    hint = refuse(2, "partition", W_PROFILE, "--pp", 4, "--micro-batches", 8, "--forbid-cut", "llm.100")["hint"]
    assert "of the 96 there are" in hint and "llm.10" in hint and len(hint) < 120


def test_flags_of_the_other_form_are_refused(rejecting_plan, lengths, tmp_path):
    assert refuse(2, "simulate", rejecting_plan, "--vision-ranks", 3)["where"]["key"] == "--vision-ranks"
    error = refuse(2, "plan", lengths, *PLAN_SMALL, "--profile", W_PROFILE, "--heads", "pad")
    assert error["where"]["key"] == "--heads"


def test_more_memory_than_a_device_has_is_warned_of(lengths):
    warned = run("plan", lengths, *PLAN_SMALL, "--memory", "200GB")
    assert warned.returncode == 0 and "--memory allows 200 GB, a device of a100-80g has" in warned.stderr
    assert "--memory" not in run("plan", lengths, *PLAN_SMALL, "--memory", "60GB").stderr


@pytest.mark.parametrize("rate", ["nan", "inf", "0", "-5", "313"])
def test_a_rate_of_zero3_beyond_its_limits(lengths, rate):
    error = refuse(2, "plan", lengths, *PLAN_SMALL, "--zero3", rate)
    assert error["where"]["key"] == "--zero3"
    assert "a number above 0" in error["message"] or error["limit"] == 312


@pytest.mark.parametrize("loads", [[{"vision_units": 1, "tokens": 2}], [{"vision": 1}], [7], {}])
def test_wrong_loads_say_how_they_are_written(tmp_path, loads):
    path = tmp_path / "loads.json"
    path.write_text(json.dumps(loads))
    assert 'token_pairs' in refuse(3, "simulate", "--profile", W_PROFILE, "--loads", path)["hint"]


def test_a_profile_whose_costs_need_a_load(tmp_path):
    profile = tmp_path / "profile.json"
    layer = {"name": "a", "trainable": True, "parameters": 1, "boundary_bytes": 1,
             "forward_s": {"per_token": 1}, "input_grad_s": 1, "weight_grad_s": 1}
    profile.write_text(json.dumps({"format": "omnibal.profile", "version": 1, "layers": [layer]}))
    error = refuse(3, "simulate", "--profile", profile, "--micro-batches", 2)
    assert "load" in error["message"] and '"token_pairs"' in error["hint"]


def test_a_difference_opens_with_the_gain(lengths, tmp_path):
    run("plan", lengths, *PLAN_SMALL[:-1], "--out", tmp_path / "plan")
    open_caps = [word for word in PLAN_SMALL if word not in CAPS]
    text = run("plan", lengths, *open_caps, "--diff", tmp_path / "plan").stdout
    table = text[text.index("against the plan in"):].splitlines()[2:]
    assert table[0].startswith("prediction.gpu_days") and "limits.explanation" not in text
    changes = ask("plan", lengths, *open_caps, "--diff", tmp_path / "plan")["diff"]["changes"]
    assert any(change["key"].startswith("limits.explanation") for change in changes)


def test_one_is_not_many(lengths):
    text = run("plan", lengths, *["2" if word == 8 else word for word in PLAN_SMALL]).stdout
    assert "on 1 rank," in text
