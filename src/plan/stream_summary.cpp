// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "omnibal/cost/linear_cost_json.h"
#include "omnibal/plan/data_plan.h"
#include "omnibal/plan/stream.h"

namespace omnibal::plan {
namespace {

using codec::Json;

double ratio_or_zero(double part, double whole) { return whole > 0 ? part / whole : 0; }

Json samples_per_step(const StreamTotals& totals, std::int64_t steps) {
  const auto count = static_cast<double>(steps);
  const double mean = ratio_or_zero(static_cast<double>(totals.samples_in_steps), count);
  const double square = ratio_or_zero(static_cast<double>(totals.squared_step_samples), count);
  return {{"mean", mean}, {"std", std::sqrt(std::max(0.0, square - mean * mean))}};
}

metrics::DistRatios mean_of(const metrics::DistRatios& sum, std::int64_t rows) {
  const auto count = static_cast<double>(rows);
  return {ratio_or_zero(sum.vision, count), ratio_or_zero(sum.tokens, count),
          ratio_or_zero(sum.attention, count), ratio_or_zero(sum.time, count)};
}

Json steps_json(const StreamTotals& totals, const steps::StreamStepState& state,
                const steps::StepOptions& options) {
  return {{"count", state.steps},
          {"micro_batches", options.micro_batches},
          {"zero_weight_packs", state.zero_weight_packs},
          {"samples_per_step", samples_per_step(totals, state.steps)},
          {"dist_ratio", steps::to_json(mean_of(totals.dist_sum, totals.balanced_rows))},
          {"dp", options.dp},
          {"window", options.window},
          {"tail", steps::to_string(options.tail)},
          {"dropped_packs", state.dropped_packs},
          {"repeated_packs", state.repeated_packs}};
}

}  // namespace

Json to_json(const StreamOptions& options) {
  return {{"method", pack::to_string(options.packing.method)},
          {"limits", limits_json(options.packing.limits)},
          {"over_long", pack::to_string(options.packing.admission.over_long)},
          {"allow_empty", options.packing.admission.allow_empty},
          {"dummy", options.add_dummy},
          {"window_samples", options.packing.window_samples},
          {"dp", options.steps.dp},
          {"micro_batches", options.steps.micro_batches},
          {"window", options.steps.window},
          {"tail", steps::to_string(options.steps.tail)},
          {"seed", options.packing.seed},
          {"step_seed", options.steps.seed},
          {"forward", cost::to_json(options.steps.forward)}};
}

Json StreamPlanner::summary() const {
  const StreamTotals& totals = state_.totals;
  const pack::StreamPackState& packing = packer_.state();
  const metrics::PackCaps caps = options_.packing.limits.caps();
  const auto packs = static_cast<double>(totals.packs);
  const auto used_over = [packs](std::int64_t used, std::int64_t cap) {
    return ratio_or_zero(static_cast<double>(used), packs * static_cast<double>(cap));
  };
  const std::int64_t placed =
      packing.samples - totals.rejected - static_cast<std::int64_t>(packing.waiting.size());
  return {{"method", pack::to_string(options_.packing.method)},
          {"limits", limits_json(options_.packing.limits)},
          {"window_samples", options_.packing.window_samples},
          {"samples", packing.samples},
          {"packs", totals.packs},
          {"placed", placed},
          {"rejected", totals.rejected},
          {"duplicated", totals.duplicated},
          {"over_cap", totals.over_cap},
          {"fill",
           {{"vision", used_over(totals.vision_units, caps.vision_units)},
            {"tokens", used_over(totals.tokens, caps.tokens)}}},
          {"pad_ratio", ratio_or_zero(static_cast<double>(totals.padding),
                                      static_cast<double>(totals.tokens + totals.padding))},
          {"steps", steps_json(totals, steps_.state(), options_.steps)},
          {"peak", {{"samples", totals.peak_samples}, {"packs", totals.peak_packs}}}};
}

}  // namespace omnibal::plan
