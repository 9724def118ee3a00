// SPDX-License-Identifier: Apache-2.0
//
// Methods of forming micro-batches side by side on one corpus: the paper's table 3.
//
//   OMNIBAL_ASSIGN(const DealtGrouping dealt, deal_by_method("isf", task, progress));
//   const MethodFigures row = judge(dealt, task);
//
// Not for making a plan: data_plan.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "omnibal/base/progress.h"
#include "omnibal/base/result.h"
#include "omnibal/cost/profile.h"
#include "omnibal/metrics/balance.h"
#include "omnibal/metrics/occupancy.h"
#include "omnibal/pack/method.h"
#include "omnibal/steps/step_table.h"

namespace omnibal::plan {

/// What every method is measured on.
struct ComparisonTask {
  metrics::SampleColumns samples;
  std::vector<std::uint32_t> cut_tokens;  // what `samples` points at where samples were cut
  std::vector<std::uint32_t> accepted;
  pack::GroupingRequest request;
  steps::StepOptions steps;
  cost::LinearCost forward;  // predicts the time of a load
};

/// Packs of method auto in steps of groups alike; every other name is a packing method.
inline constexpr const char* kOurMethod = "omnibal";

/// random, sorted, device-group, isf and omnibal, with what `asked` adds before ours; if it adds
/// nothing, all there are but auto, whose packs are ours. Error: kInvalidArgument.
Result<std::vector<std::string>> methods_to_compare(const std::vector<std::string>& asked);

/// Micro-batches of one method and which rank runs them when: as a baseline deals, packs in random
/// order, ours in formed steps.
struct DealtGrouping {
  pack::Grouping grouping;
  std::vector<metrics::PackLoad> loads;
  steps::StepTable table;
};
Result<DealtGrouping> deal_by_method(const std::string& name, const ComparisonTask& task,
                                     const Progress& progress);

/// The same on `dp` ranks: packs are dealt anew as they are, the padded baselines, which know dp,
/// form their micro-batches again. Nothing if there is no row of dp of them. Errors: those of
/// form_steps.
Result<std::optional<metrics::DistRatios>> imbalance_on(std::int64_t dp, const std::string& name,
                                                        const DealtGrouping& dealt,
                                                        const ComparisonTask& task);

struct MethodFigures {
  std::int64_t packs = 0;
  double pad_ratio = 0;
  metrics::DistRatios dist;
  metrics::Fill fill;
};
MethodFigures judge(const DealtGrouping& dealt, const ComparisonTask& task);

/// The model of the paper's ablation: whose time predicts a pack's where no model is asked for.
inline constexpr const char* kReferenceModel = "internvl-chat-1.5-26b";

/// Forward seconds of all layers of `model` on one a100-80g, as a function of a load. Imbalances
/// are ratios of it, so that the device matters little. Errors: those of load_model.
Result<cost::LinearCost> forward_of(const std::string& model);
/// Bytes that all its layers keep of a micro-batch, nothing recomputed. Same errors.
Result<cost::LinearCost> activation_bytes_of(const std::string& model);

}  // namespace omnibal::plan
