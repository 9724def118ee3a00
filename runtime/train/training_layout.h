// SPDX-License-Identifier: Apache-2.0
//
// TrainingLayout: what a plan and a configuration say together about ranks, stages, schedule and
// recomputation.
//
//   OMNIBAL_ASSIGN(const TrainingLayout layout, choose_layout(config, plan, model));
//   layout.cuts;         // the plan's where there are as many stages
//   layout.predicted;    // what predicts the step; nothing where the plan's layout was changed
//
// Not the plan's packs and steps: those do not depend on it.
#pragma once

#include <optional>
#include <vector>

#include "omnibal/plan/plan_pipeline.h"
#include "omnibal/runtime/comm/process_groups.h"
#include "omnibal/runtime/config/model_config.h"
#include "omnibal/runtime/model/recompute.h"
#include "omnibal/runtime/train_config/train_config.h"

namespace omnibal::runtime {

struct TrainingLayout {
  RankLayout ranks;
  std::int64_t micro_batches = 1;
  schedule::Schedule schedule;       // compute actions
  std::vector<std::int64_t> cuts;    // layers at which a stage begins
  std::vector<Recompute> recompute;  // by layer
  std::optional<plan::PlanPipeline> predicted;
};

/// A data plan has a stage a pipeline rank with as many layers each, 1F1B. Errors: kStalePlan (the
/// plan is of another model), kInvalidPlan (a layout that is predicted only), kTooManyStages; those
/// of read_pipeline and make_schedule.
Result<TrainingLayout> choose_layout(const TrainConfig& config, const plan::PlanReader& plan,
                                     const ModelConfig& model);

}  // namespace omnibal::runtime
