// SPDX-License-Identifier: Apache-2.0
#include "omnibal/steps/step_summary.h"

#include <cmath>

namespace omnibal::steps {
namespace {

std::int64_t samples_in_step(const StepTable& table, const metrics::GroupView& packs,
                             std::int64_t step) {
  const std::int64_t width = table.micro_batches * table.dp;
  std::int64_t samples = 0;
  for (std::int64_t i = step * width; i < (step + 1) * width; ++i) {
    const std::int64_t pack = table.pack_ids[static_cast<std::size_t>(i)];
    if (pack >= 0) samples += static_cast<std::int64_t>(packs[pack].size());
  }
  return samples;
}

MeanStd samples_per_step(const StepTable& table, const metrics::GroupView& packs) {
  if (table.num_steps == 0) return {};
  const auto steps = static_cast<double>(table.num_steps);
  double sum = 0;
  for (std::int64_t s = 0; s < table.num_steps; ++s) {
    sum += static_cast<double>(samples_in_step(table, packs, s));
  }
  const double mean = sum / steps;
  double squares = 0;
  for (std::int64_t s = 0; s < table.num_steps; ++s) {
    const double off = static_cast<double>(samples_in_step(table, packs, s)) - mean;
    squares += off * off;
  }
  return {mean, std::sqrt(squares / steps)};
}

}  // namespace

StepSummary summarize_steps(const StepTable& table, const metrics::GroupView& packs,
                            std::span<const metrics::PackLoad> loads,
                            const cost::LinearCost& forward) {
  StepSummary summary;
  summary.count = table.num_steps;
  summary.micro_batches = table.micro_batches;
  summary.zero_weight_packs = table.zero_weight_packs;
  summary.samples_per_step = samples_per_step(table, packs);
  summary.dist_ratio = metrics::dist_ratios(table.grid(), loads, forward);
  summary.vision_idle_groups = metrics::count_vision_idle_rows(table.grid(), loads);
  return summary;
}

codec::Json to_json(const metrics::DistRatios& ratios) {
  return {{"vision", ratios.vision},
          {"tokens", ratios.tokens},
          {"attention", ratios.attention},
          {"time", ratios.time}};
}

codec::Json to_json(const StepSummary& summary) {
  codec::Json json = {
      {"count", summary.count},
      {"micro_batches", summary.micro_batches},
      {"zero_weight_packs", summary.zero_weight_packs},
      {"samples_per_step",
       {{"mean", summary.samples_per_step.mean}, {"std", summary.samples_per_step.std}}},
      {"dist_ratio", to_json(summary.dist_ratio)}};
  if (summary.random_order) json["dist_ratio_random_order"] = to_json(*summary.random_order);
  json["vision_idle_groups"] = summary.vision_idle_groups;
  return json;
}

}  // namespace omnibal::steps
