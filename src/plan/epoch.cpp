// SPDX-License-Identifier: Apache-2.0
#include "epoch.h"

#include <algorithm>

#include "omnibal/base/parallel.h"

namespace omnibal::plan {
namespace {

constexpr std::int64_t kStepsPerChunk = 16;

/// The loads of one rank's micro-batches in one step.
void fill_loads(const EpochTask& task, std::int64_t step, std::int64_t rank,
                std::vector<cost::Load>& loads) {
  for (std::int64_t m = 0; m < task.steps.micro_batches; ++m) {
    const std::int64_t pack = task.steps.at(step, m, rank);
    loads[static_cast<std::size_t>(m)] = pack == steps::kZeroWeightPack
                                             ? cost::Load{}
                                             : to_load(task.loads[static_cast<std::size_t>(pack)]);
  }
}

}  // namespace

cost::Load to_load(const metrics::PackLoad& load) {
  return {static_cast<double>(load.vision_units), static_cast<double>(load.tokens),
          static_cast<double>(load.token_pairs)};
}

std::vector<double> step_seconds(const EpochTask& task, int threads) {
  std::vector<double> seconds(static_cast<std::size_t>(task.steps.num_steps));
  parallel_for(task.steps.num_steps, kStepsPerChunk, threads,
               [&](std::int64_t begin, std::int64_t end) {
                 std::vector<cost::Load> loads(static_cast<std::size_t>(task.steps.micro_batches));
                 simulate::PipelineTimes times;
                 for (std::int64_t step = begin; step < end; ++step) {
                   double slowest = 0;
                   for (std::int64_t rank = 0; rank < task.steps.dp; ++rank) {
                     fill_loads(task, step, rank, loads);
                     simulate::fill_pipeline_times(task.stages, task.links, loads, times);
                     slowest = std::max(slowest, simulate::makespan(task.schedule, times));
                   }
                   seconds[static_cast<std::size_t>(step)] = slowest;
                 }
               });
  return seconds;
}

}  // namespace omnibal::plan
