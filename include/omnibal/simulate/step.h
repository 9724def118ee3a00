// SPDX-License-Identifier: Apache-2.0
//
// One optimizer step over all data-parallel ranks, and where the time of its devices goes.
//
//   OMNIBAL_ASSIGN(const StepSimulation step, simulate_step(compiled, pipelines));
//   step.breakdown.bubble_s;
//   simulate_step(compiled, pipelines, step_end);    // with the reduction and the optimizer
//
// Not for many steps of which only the time is asked: makespan (pipeline.h).
#pragma once

#include <span>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/simulate/pipeline.h"
#include "omnibal/simulate/step_end.h"

namespace omnibal::simulate {

/// Where the device-seconds of a step over all data-parallel ranks go: dp x pp devices (a tensor
/// group counts once) until the slowest has finished. The parts sum to makespan x devices.
///
/// Busy time is useful_s (the optimizer's among it) + recompute_s. Idle time is told apart by
/// removing one cause after the other and simulating again:
///   0. as it is;
///   1. equal ranks: every rank's micro-batch m takes the mean over the ranks, stage by stage
///      (links too);
///   2. equal stages: besides, every stage of micro-batch m takes the mean over the stages (the end
///      of the step too);
///   3. free links: besides, transfers, the reduction and the gathering of weights take no time.
/// None of them changes the busy time, so a fall of the makespan is idle time saved on all devices:
/// 0 -> 1 is rank_imbalance_s, 1 -> 2 stage_imbalance_s, 2 -> 3 communication_s, and what is idle
/// in 3 is the schedule's own bubble. Making ranks equal or links free never lengthens a step;
/// making stages equal can, where loads that differ happen to interlock. Such an imbalance counts
/// 0, not less, and the next parts are measured from the shorter makespan.
struct Breakdown {
  double useful_s = 0;
  double recompute_s = 0;
  double stage_imbalance_s = 0;
  double rank_imbalance_s = 0;
  double bubble_s = 0;
  double communication_s = 0;
};

struct RankUse {
  double busy_s = 0;
  double idle_s = 0;
};

struct StepSimulation {
  double makespan_s = 0;       // of the slowest data-parallel rank, the end of the step included
  double bubble_fraction = 0;  // idle / (makespan x devices)
  Breakdown breakdown;         // device-seconds over dp x pp devices (a tensor group counts once)
  double optimizer_s = 0;      // the part of breakdown.useful_s that is the optimizer
  double reduction_s = 0;      // the part of breakdown.communication_s that the step waits for the
                               // reduction and the gathering of weights
  std::vector<RankUse> ranks;  // [dp * ranks], data-parallel rank major
  StepEndTimeline end;         // of all data-parallel ranks together
};

/// `pipelines`: one a data-parallel rank. Error: kInvalidArgument if shapes disagree or there is
/// none, or if `end` is neither empty nor by stage.
Result<StepSimulation> simulate_step(const CompiledSchedule& schedule,
                                     std::span<const PipelineTimes> pipelines,
                                     const StepEnd& end = {});

}  // namespace omnibal::simulate
