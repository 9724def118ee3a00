// SPDX-License-Identifier: Apache-2.0
//
// Every step of an epoch simulated with the real load of every pack.
#pragma once

#include <span>
#include <vector>

#include "omnibal/base/progress.h"
#include "omnibal/base/result.h"
#include "omnibal/metrics/loads.h"
#include "omnibal/simulate/pipeline.h"
#include "omnibal/simulate/stage_times.h"
#include "omnibal/steps/step_table.h"

namespace omnibal::plan {

struct EpochTask {
  const simulate::CompiledSchedule& schedule;
  std::span<const simulate::StageCost> stages;
  std::span<const cluster::Link> links;  // empty: transfers take no time
  const steps::StepTable& steps;
  std::span<const metrics::PackLoad> loads;  // by pack id
};

/// Seconds of each step: the slowest data-parallel rank's makespan. A zero-weight pack takes no
/// time. The same for any number of threads. O(simulated actions).
std::vector<double> step_seconds(const EpochTask& task, int threads);

/// The load as the cost model takes it.
cost::Load to_load(const metrics::PackLoad& load);

}  // namespace omnibal::plan
