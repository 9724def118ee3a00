// SPDX-License-Identifier: Apache-2.0
//
// What a step table means for training: the `steps` object that `pack` and `plan` report
// (docs/formats.md).
//
//   const StepSummary summary = summarize_steps(table, packs.view(), loads, forward);
//   document["steps"] = to_json(summary);
//
// Not for predicted step times: those need stages and a schedule (plan/epoch.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "omnibal/codec/json.h"
#include "omnibal/cost/profile.h"
#include "omnibal/metrics/balance.h"
#include "omnibal/metrics/loads.h"
#include "omnibal/steps/step_table.h"

namespace omnibal::steps {

struct MeanStd {
  double mean = 0;
  double std = 0;  // of the population
};

struct StepSummary {
  std::int64_t count = 0;
  std::int64_t micro_batches = 0;
  std::int64_t zero_weight_packs = 0;
  MeanStd samples_per_step;
  metrics::DistRatios dist_ratio;
  std::optional<metrics::DistRatios> random_order;  // of the same packs, for comparison
  std::int64_t vision_idle_groups = 0;  // some ranks run the vision tower, others do not
};

/// `loads` by pack id; `forward` predicts the time of a load. O(entries).
StepSummary summarize_steps(const StepTable& table, const metrics::GroupView& packs,
                            std::span<const metrics::PackLoad> loads,
                            const cost::LinearCost& forward);

/// {count, micro_batches, zero_weight_packs, samples_per_step {mean, std}, dist_ratio {vision,
/// tokens, attention, time}, dist_ratio_random_order likewise if known, vision_idle_groups}.
codec::Json to_json(const StepSummary& summary);
/// {vision, tokens, attention, time}.
codec::Json to_json(const metrics::DistRatios& ratios);

}  // namespace omnibal::steps
