# SPDX-License-Identifier: Apache-2.0
"""`verify` names what is wrong with a damaged plan and exits with 3."""
import hashlib
import json
import random
import shutil
import subprocess

import numpy as np
import pytest

from conftest import PLAN_FILES as FILES
from conftest import ask, assign, refuse, run, write_lengths

@pytest.fixture
def plan(small_plan, tmp_path):
    copy = tmp_path / "plan"
    shutil.copytree(small_plan, copy)
    return copy


def failed_checks(plan, *flags):
    done = run("verify", plan, "--json", *flags)
    answer = json.loads(done.stdout)
    assert done.returncode == 3 and answer["ok"] is False, done.stdout
    return {check["name"]: check["detail"] for check in answer["checks"] if not check["ok"]}


def edit_array(plan, name, change):
    array = np.load(plan / name)
    change(array)
    np.save(plan / name, array)


def edit_document(plan, change):
    document = json.loads((plan / "plan.json").read_text())
    change(document)
    (plan / "plan.json").write_text(json.dumps(document))


def test_a_good_plan_holds(small_plan):
    answer = ask("verify", small_plan)
    assert answer["ok"] and all(check["ok"] for check in answer["checks"])


def test_every_file_of_the_plan_is_known(small_plan):
    assert sorted(path.name for path in small_plan.iterdir()) == sorted(FILES)


def test_xxhsum_reads_the_checksums(small_plan):
    subprocess.run(["xxhsum", "-c", "checksums.txt"], cwd=small_plan, check=True,
                   capture_output=True)


@pytest.mark.parametrize("name", FILES)
def test_one_flipped_byte_anywhere(small_plan_with_rejections, name):
    plan = small_plan_with_rejections
    content = bytearray((plan / name).read_bytes())
    rng = random.Random(int(hashlib.md5(name.encode()).hexdigest(), 16))
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    (plan / name).write_bytes(content)
    named = failed_checks(plan)["checksums"]
    assert name in named or name == "checksums.txt"


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(plan, name):
    (plan / name).unlink()
    assert any(name in detail for detail in failed_checks(plan).values())


@pytest.mark.parametrize("name", [name for name in FILES if name != "checksums.txt"])
def test_a_missing_file_is_named_without_checksums(plan, name):
    (plan / name).unlink()
    assert any(name in detail
               for detail in failed_checks(plan, "--ignore-checksums").values())


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".npy")])
@pytest.mark.parametrize("keep", [0, 5, 60, 200])
def test_a_truncated_array(plan, name, keep):
    (plan / name).write_bytes((plan / name).read_bytes()[:keep])
    assert failed_checks(plan, "--ignore-checksums")


def set_item(index, value):
    def change(array):
        array[index] = value
    return change


def copy_item(target, source):
    def change(array):
        array[target] = array[source]
    return change


@pytest.mark.parametrize("name, change, check", [
    ("pack_samples.npy", copy_item(0, 1), "exactly_once"),
    ("pack_samples.npy", set_item(3, -1), "exactly_once"),
    ("pack_samples.npy", set_item(3, 20000), "exactly_once"),
    ("pack_samples.npy", set_item(3, 2**62), "exactly_once"),
    ("pack_offsets.npy", set_item(0, 1), "exactly_once"),
    ("pack_offsets.npy", set_item(5, 10**9), "exactly_once"),
    ("pack_offsets.npy", copy_item(5, 4), "exactly_once"),
    ("steps.npy", copy_item((0, 0, 0), (0, 0, 1)), "steps"),
    ("steps.npy", set_item((0, 1, 0), 10**6), "steps"),
    ("steps.npy", set_item((0, 1, 0), -7), "steps"),
    ("steps.npy", set_item((0, 1, 0), -1), "steps"),
    ("sample_tokens.npy", set_item(17, 5000), "caps"),
    ("sample_vision.npy", set_item(17, 10), "caps"),
    ("pack_load.npy", set_item((2, 0), 1), "loads"),
    ("supervised.npy", set_item(2, -1), "supervised"),
    ("supervised.npy", set_item(2, 10**6), "supervised"),
    ("supervised.npy", set_item(2, 1), "inputs"),
    ("sample_tokens.npy", set_item(17, 2**32 - 1), "files"),
    ("sample_vision.npy", set_item(17, 2**31), "files"),
    ("sample_tokens.npy", set_item(17, 2**30), "packing_metrics"),
    ("steps.npy", set_item((0, 1, 0), 10**12), "steps"),
    ("sample_row.npy", set_item(17, 99999), "inputs"),
    ("sample_source.npy", set_item(17, 60000), "counts"),
    ("sample_source.npy", set_item(17, 3), "mix"),
    ("step_mix.npy", set_item((2, 0, 0), 7), "step_mix"),
    ("step_mix.npy", set_item((0, 1, 2), -1), "step_mix"),
])
def test_an_array_that_lies(plan, name, change, check):
    edit_array(plan, name, change)
    assert check in failed_checks(plan, "--ignore-checksums")


@pytest.mark.parametrize("shape", [(0, 0, 0), (3, 32, 0), (0, 32, 8)])
@pytest.mark.parametrize("command", [["verify", "--ignore-checksums"], ["simulate"]])
def test_a_step_table_without_steps(plan, shape, command):
    np.save(plan / "steps.npy", np.zeros(shape, np.int64))
    done = run(command[0], plan, *command[1:])
    assert done.returncode == 3 and "steps.npy" in done.stdout + done.stderr


@pytest.mark.parametrize("pack", [10**12, 2**62, -2])
def test_simulate_names_an_id_that_is_no_pack(plan, pack):
    edit_array(plan, "steps.npy", set_item((0, 0, 3), pack))
    error = refuse(3, "simulate", plan)
    assert error["code"] == "invalid_plan" and error["value"] == pack
    assert error["where"] == {"file": "steps.npy", "row": 3}


@pytest.mark.parametrize("path", [
    ["padded"], ["limits", "vision_floor"], ["limits", "token_floor"], ["limits", "rounds"],
    ["limits", "chosen_by"], ["steps", "dist_ratio_random_order"], ["steps"], ["partition"],
    ["worst_pack", "activation_bytes"]])
def test_no_key_can_be_taken_out(plan, path):
    def take_out(document):
        for key in path[:-1]:
            document = document[key]
        del document[path[-1]]
    edit_document(plan, take_out)
    assert failed_checks(plan, "--ignore-checksums")


def test_a_data_plan_without_its_worst_packs_bytes(tmp_path):
    lengths = write_lengths(tmp_path / "lengths.json", [(1, 1000, 1)] * 40)
    plan = tmp_path / "plan"
    ask("pack", lengths, "--vision-cap", 9, "--token-cap", 4096, "--dp", 2, "--out", plan)
    edit_document(plan, lambda document: document["worst_pack"].pop("activation_bytes"))
    assert "worst_pack" in failed_checks(plan, "--ignore-checksums")


@pytest.mark.parametrize("path, value, check", [
    (["limits", "vision_cap"], 8, "caps"),
    (["limits", "token_cap"], 4000, "caps"),
    (["limits", "vision_cap"], 10, "packing_metrics"),
    (["packs"], 1, "counts"),
    (["placed"], 1, "counts"),
    (["samples"], 1, "counts"),
    (["rejected"], 1, "counts"),
    (["lower_bound"], 10**6, "packing_metrics"),
    (["fill", "tokens"], 1.0, "packing_metrics"),
    (["steps", "count"], 1, "steps"),
    (["steps", "zero_weight_packs"], 1, "steps"),
    (["steps", "dist_ratio", "tokens"], 0.0, "step_metrics"),
    (["steps", "dist_ratio_random_order", "attention"], 0.5, "step_metrics"),
    (["duplicated"], 4, "steps"),
    (["parallel", "dp"], 4, "parallel"),
    (["partition", "cuts"], [22, 22, 71], "partition"),
    (["partition", "cuts"], [22, 44, 96], "partition"),
    (["partition", "cuts"], [22, 44], "partition"),
    (["recompute"], [96], "recompute"),
    (["recompute"], [5, 5], "recompute"),
    (["prediction", "step_s"], 1.0, "prediction"),
    (["prediction", "gpu_days"], 1.0, "prediction"),
    (["prediction", "peak_bytes"], 1, "memory"),
    (["schedule", "kind"], "gpipe", "prediction"),
    (["corpus", "samples"], 3, "counts"),
    (["corpus", "sources", 0, "name"], "another", "inputs"),
    (["corpus", "sources", 0], 7, "counts"),
    (["limits", "token_cap"], 10**12, "packing_metrics"),
    (["method"], "sorted", "packing_metrics"),
    (["padded"], True, "loads"),
    (["steps", "repeated_packs"], 1, "steps"),
    (["steps", "samples_per_step", "mean"], 1024, "step_metrics"),
    (["steps", "samples_per_step", "std"], 0, "step_metrics"),
    (["steps", "dist_ratio", "time"], 0.001, "step_metrics"),
    (["steps", "source_mix", "steps", "samples", "against_random"], 0.5, "step_mix"),
    (["steps", "source_mix", "sources", 1, "windows", "tokens", "max"], 0.9, "step_mix"),
    (["steps", "source_mix", "sources"], [], "step_mix"),
    (["mix", "sources", 2, "samples"], 7, "mix"),
    (["mix", "sources", 2, "placed", "share", "tokens"], 0.5, "mix"),
    (["mix", "sources", 0, "repeat"], 2.0, "mix"),
    (["mix", "sources", 0, "name"], "another", "mix"),
    (["mix"], {}, "mix"),
    (["truncated"], 1, "truncated"),
    (["partition", "stages", 0, "kept_bytes"], 1, "partition"),
    (["partition", "stages", 0, "transient_bytes"], 1, "partition"),
    (["partition", "stages", 0, "in_flight"], 1, "partition"),
    (["layout"], "colocated", "parallel"),
    (["links"], "wires", "prediction"),
    (["prediction", "tokens_per_s_per_gpu"], 1000, "prediction"),
    (["prediction", "mfu"], 0.9, "prediction"),
    (["ablation"], [], "ablation"),
    (["ablation", 0, "step_s"], 100, "ablation"),
    (["ablation", 1, "step_s"], 100, "ablation"),
    (["ablation", 2, "gpu_days"], 1, "ablation"),
    (["ablation", 3, "speedup"], 100, "ablation"),
    (["ablation", -1, "cuts"], [1, 2, 3], "ablation"),
    (["ablation", 4, "step_s"], 1, "ablation"),
    (["ablation", 1, "name"], "+model", "ablation"),
    (["partition", "ranks"], [], "partition"),
    (["partition", "stages", 1, "rank"], 0, "partition"),
    (["prediction", "peak_bytes_worst_pack"], 1, "memory"),
    (["certificate", "bottleneck_s"], 100, "explanations"),
    (["certificate", "lower_bound_s"], 100, "explanations"),
    (["certificate", "gap"], 0.5, "explanations"),
    (["sensitivity", 0, "step_s"], 1000, "explanations"),
    (["sensitivity", 1, "factor"], 3, "explanations"),
    (["sensitivity", 2, "loss"], 1, "explanations"),
    (["sensitivity", 3, "part"], "sound", "explanations"),
    (["format"], "something else", "files"),
    (["version"], 99, "files"),
])
def test_a_document_that_lies(plan, path, value, check):
    edit_document(plan, assign(path, value))
    assert check in failed_checks(plan, "--ignore-checksums")


@pytest.mark.parametrize("line, key, value", [
    (0, "reason", "vision"), (0, "reason", "mood"), (0, "value", 5001), (0, "limit", 5000),
    (1, "value", 13), (2, "reason", "tokens"), (2, "row", 7), (1, "source", None)])
def test_a_rejection_that_is_not_true(small_plan_with_rejections, line, key, value):
    path = small_plan_with_rejections / "rejected.jsonl"
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    lines[line][key] = value
    path.write_text("".join(json.dumps(text) + "\n" for text in lines))
    assert list(failed_checks(path.parent, "--ignore-checksums")) == ["rejected"]


@pytest.mark.parametrize("line", ["1", "null", "[]", "\"a\"", "", "{", "\0"])
def test_a_rejection_that_is_no_object(small_plan_with_rejections, line):
    path = small_plan_with_rejections / "rejected.jsonl"
    lines = path.read_text().splitlines()
    lines[1] = line
    path.write_text("\n".join(lines) + "\n")
    assert list(failed_checks(path.parent, "--ignore-checksums")) == ["rejected"]


def test_rewritten_checksums_do_not_help(plan):
    edit_array(plan, "pack_samples.npy", copy_item(0, 1))
    names = sorted(path.name for path in plan.iterdir() if path.name != "checksums.txt")
    lines = subprocess.run(["xxhsum", "-H2", *names], cwd=plan, check=True, capture_output=True,
                           text=True).stdout
    (plan / "checksums.txt").write_text(lines)
    assert "exactly_once" in failed_checks(plan)


def test_a_sample_lost_between_packs_and_rejections(tmp_path):
    lengths = tmp_path / "lengths.json"
    rows = [{"vit_num": 1, "token_num": 600, "image_flags": 1}] * 8
    rows.append({"vit_num": 1, "token_num": 5000, "image_flags": 1})
    lengths.write_text(json.dumps(rows))
    ask("pack", lengths, "--vision-cap", 9, "--token-cap", 4096, "--out", tmp_path / "plan")
    (tmp_path / "plan" / "rejected.jsonl").write_text("")
    assert "rejected" in failed_checks(tmp_path / "plan", "--ignore-checksums")


def test_no_directory(tmp_path):
    done = run("verify", tmp_path / "nothing")
    assert done.returncode == 3 and "nothing" in done.stderr


def test_inputs_are_read_again(tmp_path):
    lengths = tmp_path / "lengths.json"
    rows = [{"vit_num": 1, "token_num": 600 + i, "image_flags": 1} for i in range(50)]
    lengths.write_text(json.dumps(rows))
    plan = tmp_path / "plan"
    ask("pack", lengths, "--vision-cap", 9, "--token-cap", 4096, "--out", plan)
    checks = {check["name"]: check for check in ask("verify", plan)["checks"]}
    assert checks["inputs"]["detail"].startswith("1 input files")
    lengths.write_text(json.dumps(rows[:-1]))
    checks = {check["name"]: check for check in ask("verify", plan)["checks"]}
    assert checks["inputs"]["ok"] and "nothing to compare" in checks["inputs"]["detail"]
