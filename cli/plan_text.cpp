// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_text.h"

#include <fmt/format.h>

#include "cli/layout_text.h"
#include "cli/limits_text.h"
#include "cli/text_table.h"
#include "omnibal/base/quantity.h"

namespace omnibal::cli {
namespace {

std::string ablation_table(const plan::Plan& plan) {
  std::vector<std::vector<std::string>> rows = {{"", "step", "GPU days", "speed-up", ""}};
  for (const plan::AblationRow& row : plan.ablation) {
    const bool fits = row.peak_bytes <= plan.memory_bytes;
    rows.push_back({row.name, fmt::format("{:.2f} s", row.step_s), days(row.gpu_days),
                    fmt::format("{:.2f}x", row.speedup),
                    fits ? "" : "does not fit: " + format_bytes(row.peak_bytes)});
  }
  rows.push_back({"no idle time", "", days(plan.bound_gpu_days), "", ""});
  return text_table(rows);
}

std::string stage_table(const plan::Plan& plan) {
  std::vector<std::vector<std::string>> rows = {
      {"stage", "rank", "layers", "forward", "backward", "recompute", "in flight", "peak"}};
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const metrics::StageSummary& stage = plan.stages[s];
    rows.push_back(
        {fmt::format("{}", s), fmt::format("{}", stage.rank),
         fmt::format("{}-{}", stage.first_layer, stage.first_layer + stage.num_layers - 1),
         format_seconds(stage.forward_s), format_seconds(stage.backward_s),
         format_seconds(stage.recompute_s), fmt::format("{}", stage.in_flight),
         format_bytes(stage.peak_bytes)});
  }
  return text_table(rows);
}

/// What becomes of a step if a cut moves by a layer.
std::string move_text(const joint::CutMove& move, double step_s) {
  if (!move.allowed) return "not possible";
  if (!move.fits) return "does not fit";
  return fmt::format("{:+.2f} %", 100 * (move.makespan_s / step_s - 1));
}

std::string certificate_text(const plan::PlanCertificate& certificate) {
  std::string text = fmt::format(
      "\ncuts: slowest rank {} a micro-batch, {} at least ({:.2f} % above{})\n",
      format_seconds(certificate.bottleneck_s), format_seconds(certificate.lower_bound_s),
      100 * certificate.gap, certificate.proven ? ", proven" : "");
  if (certificate.cuts.empty()) return text;
  std::vector<std::vector<std::string>> rows = {{"cut at layer", "a layer earlier", "later"}};
  for (const joint::CutReason& reason : certificate.cuts) {
    rows.push_back({fmt::format("{}", reason.cut.value()),
                    move_text(reason.left, certificate.step_s),
                    move_text(reason.right, certificate.step_s)});
  }
  return text + text_table(rows);
}

std::string sensitivity_table(const std::vector<plan::SensitivityCase>& cases) {
  std::vector<std::vector<std::string>> rows = {{"layers", "time", "step", "knowing it", "loss"}};
  for (const plan::SensitivityCase& one : cases) {
    rows.push_back({std::string(to_string(one.part)),
                    fmt::format("{:+.0f} %", 100 * (one.factor - 1)),
                    fmt::format("{:.2f} s", one.step_s), fmt::format("{:.2f} s", one.best_step_s),
                    fmt::format("{:.2f} %", 100 * one.loss)});
  }
  return text_table(rows);
}

std::string explained(const plan::Plan& plan) {
  std::string text = "\nstages, every micro-batch at the caps:\n" + stage_table(plan);
  text += fmt::format("fullest rank at the worst pack: {}\n",
                      format_bytes(plan.prediction.peak_bytes_worst_pack));
  text += certificate_text(plan.certificate);
  if (plan.sensitivity.empty()) return text;
  return text + "\nif the times of layers are off:\n" + sensitivity_table(plan.sensitivity);
}

std::string zero3_line(const plan::Zero3Prediction& zero3) {
  return fmt::format(
      "the same on ZeRO-3: {} GPU days unbalanced, {} with packs, {} with these packs in groups "
      "alike and {} layers recomputed\n",
      days(zero3.baseline.gpu_days), days(zero3.balanced.gpu_days), days(zero3.planned.gpu_days),
      zero3.planned.recomputed_layers);
}

}  // namespace

std::string days(double gpu_days) {
  return gpu_days < 10 ? fmt::format("{:.3g}", gpu_days) : fmt::format("{:.1f}", gpu_days);
}

std::string to_text(const plan::Plan& plan, bool with_explanation) {
  const steps::StepSummary& steps = *plan.data.step_summary;
  std::string text;
  if (plan.data_options.choice) text = to_text(*plan.data_options.choice) + '\n';
  text += fmt::format(
      "{} samples in {} packs of at most {} vision units and {} tokens; {} rejected\n"
      "{} steps of {} micro-batches on {} ranks, {:.0f} samples a step; imbalance vision {:.4f}, "
      "tokens {:.4f}, "
      "attention {:.4f}, time {:.4f}\n"
      "tp {} x pp {} x dp {}, {}{}; fullest rank {} of {}\n\n",
      plan.data.admission.accepted.size(), plan.data.grouping.packs.size(),
      plan.data_options.limits.vision_cap, plan.data_options.limits.token_cap,
      plan.data.admission.rejected.size(), steps.count, steps.micro_batches, plan.sizes.dp,
      steps.samples_per_step.mean, steps.dist_ratio.vision, steps.dist_ratio.tokens,
      steps.dist_ratio.attention, steps.dist_ratio.time, plan.sizes.tp, plan.sizes.pp,
      plan.sizes.dp, schedule::to_string(plan.schedule),
      plan.chunks > 1 ? fmt::format(" with {} stages a rank", plan.chunks) : "",
      format_bytes(plan.prediction.peak_bytes), format_bytes(plan.memory_bytes));
  text += ablation_table(plan);
  if (plan.zero3) text += zero3_line(*plan.zero3);
  text += fmt::format(
      "\nprediction ({} links): {:.2f} s a step, {} and {} GPU days an epoch, {:.0f} "
      "samples/s, MFU {:.0f} %\n",
      plan.free_links ? "free" : "modelled", plan.prediction.step_s,
      format_seconds(3600 * plan.prediction.hours), days(plan.prediction.gpu_days),
      plan.prediction.samples_per_s, 100 * plan.prediction.mfu);
  if (plan.layouts)
    text += "\nlayouts, the plan's packs and steps in each:\n" + to_text(*plan.layouts);
  if (with_explanation) text += explained(plan);
  return text;
}

}  // namespace omnibal::cli
