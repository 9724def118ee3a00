# SPDX-License-Identifier: Apache-2.0
"""`verify` names what is false in what explains a plan, and holds whatever `plan` writes."""
import shutil

import pytest

from conftest import ask, assign
from test_verify import edit_document, failed_checks, plan  # noqa: F401 (a fixture)


def double(path):
    return lambda document: assign(path, 2 * member(document, path))(document)


def flip(path):
    return lambda document: assign(path, not member(document, path))(document)


def take_out(path):
    def change(document):
        del member(document, path[:-1])[path[-1]]
    return change


def member(document, path):
    for key in path:
        document = document[key]
    return document


def a_bound_that_is_met(document):
    certificate = document["certificate"]
    certificate.update(lower_bound_s=certificate["bottleneck_s"], gap=0.0, proven=True)


def a_lower_bound(document):
    certificate = document["certificate"]
    certificate["lower_bound_s"] *= 0.9
    certificate["gap"] = certificate["bottleneck_s"] / certificate["lower_bound_s"] - 1


def a_better_case(document):
    case = document["sensitivity"][0]
    case["best_step_s"] *= 0.9
    case["loss"] = case["step_s"] / case["best_step_s"] - 1


@pytest.mark.parametrize("change, check, complaint", [
    (assign(["certificate", "cuts"], []), "explanations", "certificate.cuts has 0 entries"),
    (take_out(["certificate", "cuts"]), "explanations", "cuts missing"),
    (take_out(["certificate"]), "explanations", "certificate missing"),
    (assign(["certificate", "cuts", 0, "cut"], 5), "explanations", "certificate.cuts[0] is of layer 5"),
    (double(["certificate", "step_s"]), "explanations", "certificate.step_s"),
    (double(["certificate", "cuts", 1, "left", "peak_bytes"]), "explanations", "left.peak_bytes"),
    (double(["certificate", "cuts", 1, "right", "makespan_s"]), "explanations", "right.makespan_s"),
    (flip(["certificate", "cuts", 2, "left", "fits"]), "explanations", "left.fits"),
    (flip(["certificate", "proven"]), "explanations", "certificate.proven"),
    (a_bound_that_is_met, "explanations", "certificate.lower_bound_s"),
    (a_lower_bound, "explanations", "certificate.lower_bound_s"),
    (assign(["sensitivity"], []), "explanations", "sensitivity has 0 cases"),
    (assign(["sensitivity", 0, "cuts"], [1, 2, 3]), "explanations", "sensitivity[0]"),
    (assign(["sensitivity", 1, "cuts"], [1, 2]), "explanations", "there are 2 cuts"),
    (assign(["sensitivity", 2, "recompute"], list(range(95))), "explanations", "sensitivity[2]"),
    (take_out(["sensitivity", 3, "recompute"]), "explanations", "recompute missing"),
    (a_better_case, "explanations", "sensitivity[0].best_step_s"),
    (assign(["ablation", 0, "cuts"], [30, 20, 10]), "ablation", "ablation[0].cuts do not rise"),
    (assign(["ablation", 1, "cuts"], [1, 2, 3]), "ablation", "other cuts than the row before"),
    (assign(["ablation", 2, "cuts"], [22]), "ablation", "make 2 stages"),
    (assign(["ablation", 3, "cuts"], [1, 2, 3]), "ablation", "other cuts than the row before"),
    (assign(["ablation", -3, "cuts"], [1, 2, 3]), "ablation", "cuts"),
    (assign(["ablation", -2, "cuts"], [1, 2, 3]), "ablation", "cuts"),
    (take_out(["ablation", -2, "cuts"]), "ablation", "cuts"),
    (double(["ablation", -1, "peak_bytes"]), "ablation", "peak_bytes"),
    (take_out(["ablation", 0, "peak_bytes"]), "ablation", "peak_bytes missing"),
    (assign(["limits", "chosen_by"], "god"), "limits", "neither given, paper nor auto"),
    (assign(["limits", "chosen_by"], "paper"), "limits", "provenance.options says given"),
    (take_out(["layout"]), "parallel", "layout missing"),
    (take_out(["prediction"]), "prediction", "prediction missing"),
])
def test_a_claim_that_lies_is_named(plan, change, check, complaint):
    edit_document(plan, change)
    failed = failed_checks(plan, "--ignore-checksums")
    assert complaint in failed[check], failed
    assert not any("json.exception" in detail for detail in failed.values())


@pytest.fixture(scope="module")
def compared_plan(rejecting_plan, tmp_path_factory):
    """Sizes searched, caps chosen, all layouts and ZeRO-3 compared."""
    directory = tmp_path_factory.mktemp("compared") / "plan"
    ask("plan", rejecting_plan.parent / "lengths.json", "--model", "internvit-300m+qwen2.5-0.5b",
        "--cluster", "a100-80g", "--gpus", 8, "--pp", 4, "--global-batch", 32, "--layout", "auto",
        "--zero3", 100, "--out", directory)
    return directory


@pytest.fixture
def compared(compared_plan, tmp_path):
    return shutil.copytree(compared_plan, tmp_path / "plan")


def integrated(change):
    """`change` of the integrated layout."""
    def apply(document):
        change(next(one for one in document["layouts"]["ranked"] if one["layout"] == "integrated"))
    return apply


def spread(change):
    """`change` of the best layout with a tower of its own."""
    def apply(document):
        change(next(one for one in document["layouts"]["ranked"] if "vision" in one))
    return apply


def without_the_own_layout(document):
    layouts = document["layouts"]
    layouts["ranked"] = [one for one in layouts["ranked"] if one["layout"] != "integrated"]
    layouts["best"] = layouts["ranked"][0]["layout"]


@pytest.mark.parametrize("change, check, complaint", [
    (integrated(assign(["cuts"], [1, 2, 3])), "explanations", "cuts"),
    (integrated(assign(["recompute"], [1])), "explanations", "recompute"),
    (integrated(double(["peak_bytes"])), "explanations", "peak_bytes"),
    (integrated(assign(["schedule", "kind"], "gpipe")), "explanations", "schedule.kind"),
    (integrated(assign(["schedule", "chunks"], 9)), "explanations", "schedule.chunks"),
    (integrated(flip(["certificate", "proven"])), "explanations", "certificate.proven"),
    (integrated(double(["certificate", "step_s"])), "explanations", "certificate.step_s"),
    (integrated(assign(["bound", "gpu_days"], 1e-9)), "explanations", "bound.gpu_days"),
    (integrated(take_out(["layout"])), "explanations", "layout missing"),
    (integrated(assign(["layout"], "god")), "explanations", 'there is no layout "god"'),
    (integrated(assign(["shares", "model"], 0.01)), "explanations", "shares add up to"),
    (without_the_own_layout, "explanations", "does not hold the plan's own layout"),
    (assign(["layouts", "best"], "god"), "explanations", "layouts.best"),
    (assign(["layouts", "ranked"], []), "explanations", "layouts.ranked"),
    (take_out(["layouts", "refused"]), "explanations", "refused missing"),
    (take_out(["zero3", "planned"]), "explanations", "planned missing"),
    (double(["search", "candidates", 0, "token_cap"]), "explanations", "search.candidates[0].token_cap"),
    (double(["search", "candidates", 0, "vision_cap"]), "explanations", "search.candidates[0].vision_cap"),
    (double(["search", "candidates", 0, "parallel", "micro_batches"]), "explanations", "micro_batches"),
    (assign(["search", "candidates", 1, "schedule", "kind"], "god"), "explanations", 'no schedule "god"'),
    (double(["search", "candidates", 1, "parallel", "tp"]), "explanations", "GPUs, not of 8"),
    (take_out(["search", "candidates", 0, "schedule"]), "explanations", "schedule missing"),
    (double(["search", "gpus"]), "explanations", "GPUs, not of 16"),
    (take_out(["search", "candidates", 1, "shares", "idle"]), "explanations", "idle missing"),
    (take_out(["search"]), "explanations", 'lacks "search"'),
    (take_out(["layouts"]), "explanations", 'lacks "layouts"'),
    (take_out(["zero3"]), "explanations", 'lacks "zero3"'),
    (spread(assign(["vision", "place"], "god")), "explanations", 'no place "god"'),
    (spread(assign(["schedule", "kind"], "god")), "explanations", 'no schedule "god"'),
    (spread(assign(["peak_bytes"], 10**12)), "explanations", "peak_bytes"),
    (spread(assign(["cuts"], [30, 20, 10])), "explanations", "cuts does not rise"),
    (spread(take_out(["certificate", "cuts"])), "explanations", "cuts missing"),
    (assign(["limits", "chosen_by"], "given"), "limits", "provenance.options says auto"),
    (take_out(["limits", "explanation"]), "limits", "limits.explanation is not there"),
    (assign(["limits", "explanation", "tokens", "binds"], "god"), "limits", 'called "god"'),
    (double(["limits", "explanation", "memory_bytes"]), "limits", "limits.explanation.memory_bytes"),
    (double(["limits", "explanation", "micro_batches"]), "limits", "limits.explanation.micro_batches"),
    (double(["limits", "explanation", "seconds_per_1000_samples"]), "limits", "slower_by"),
])
def test_a_comparison_that_lies_is_named(compared, change, check, complaint):
    edit_document(compared, change)
    failed = failed_checks(compared, "--ignore-checksums")
    assert list(failed) == [check] and complaint in failed[check], failed
    assert not any("json.exception" in detail for detail in failed.values())


def test_a_compared_plan_holds(compared_plan):
    assert ask("verify", compared_plan)["ok"]


@pytest.mark.parametrize("flags", [
    ["--schedule", "gpipe"], ["--schedule", "interleaved", "--chunks", 2], ["--schedule", "zb-h1"],
    ["--schedule", "zb-v"], ["--schedule", "1f1b", "--freeze", "vision"],
    ["--schedule", "1f1b", "--lora", "llm"], ["--schedule", "1f1b", "--tail", "drop"],
    ["--schedule", "zb-v", "--tail", "repeat"], ["--schedule", "1f1b", "--links", "free"],
    ["--schedule", "1f1b", "--memory", "9GB", "--recompute-choices", "offload"],
    ["--schedule", "interleaved", "--memory", "9GB", "--recompute-choices", "selective"],
    ["--schedule", "1f1b", "--limits", "paper", "--worst-first"]])
def test_whatever_plan_writes_holds(rejecting_plan, tmp_path, flags):
    answer = ask("plan", rejecting_plan.parent / "lengths.json", "--model",
                 "internvit-300m+qwen2.5-0.5b", "--cluster", "a100-80g", "--gpus", 8, "--tp", 1,
                 "--pp", 4, "--dp", 2, "--global-batch", 32, *flags, "--out", tmp_path / "plan")
    cuts = [reason["cut"] for reason in answer["certificate"]["cuts"]]
    assert cuts == answer["partition"]["cuts"]
    assert ask("verify", tmp_path / "plan")["ok"]


def test_a_certificate_of_another_version(plan):
    """What another version's search finds is not known: its bound may be another."""
    def change(document):
        document["provenance"]["tool"] = "omnibal 0.0.9"
        a_lower_bound(document)
    edit_document(plan, change)
    checks = {check["name"]: check for check in ask("verify", plan, "--ignore-checksums")["checks"]}
    assert "of another version" in checks["explanations"]["detail"]
