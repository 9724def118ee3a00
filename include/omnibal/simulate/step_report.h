// SPDX-License-Identifier: Apache-2.0
//
// One optimizer step of given cuts, recomputation and schedule, with the loads of every
// micro-batch of every data-parallel rank: time, memory and timeline. What `omnibal simulate`
// answers.
//
//   OMNIBAL_ASSIGN(const StepReport report, report_step({profile, cuts, mask, schedule, loads}));
//   report.step.breakdown.bubble_s;
//   chrome_trace(report.timelines, {report.memory, report.step.end.spans});
//
// Not for a whole epoch: a compiled schedule and makespan (pipeline.h) are far cheaper.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/simulate/pipeline.h"
#include "omnibal/simulate/stage_memory.h"
#include "omnibal/simulate/stage_times.h"
#include "omnibal/simulate/step.h"

namespace omnibal::simulate {

struct StepCase {
  const cost::Profile& profile;
  const partition::Cuts& cuts;
  const recompute::RecomputeMask& recompute;
  const schedule::Schedule& schedule;
  std::vector<std::vector<cost::Load>> loads;     // [dp][micro-batches]
  std::vector<std::vector<cluster::Link>> links;  // [dp][stages - 1]; empty: transfers are free
  StepEnd end = {};                               // empty: the step ends with its last backward
};

struct StepReport {
  StepSimulation step;
  std::vector<std::int64_t> peak_bytes;  // [dp * ranks], data-parallel rank major
  std::vector<Timeline> timelines;       // [dp]
  std::vector<std::vector<std::vector<ActionMemory>>> memory;  // [dp][ranks][compute actions]
};

/// Error: kInvalidArgument if there are not schedule.num_stages - 1 cuts or a rank has not one load
/// a micro-batch; those of cost::check_bytes.
Result<StepReport> report_step(const StepCase& step);

/// Loads of the micro-batches of one rank, as a user writes them: a JSON array of {"vision_units",
/// "tokens", "token_pairs"}. Errors: those of read_json; kEmptyInput, kMissingKey, kUnknownKey,
/// kWrongType, kOutOfRange (negative, too large, too many), naming the row.
Result<std::vector<cost::Load>> read_loads(const std::string& path);

}  // namespace omnibal::simulate
