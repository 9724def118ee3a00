// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/epoch.h"

#include <algorithm>

#include "omnibal/base/parallel.h"

namespace omnibal::plan {
namespace {

constexpr std::int64_t kStepsPerChunk = 16;

/// One step over its data-parallel ranks, given one after another.
class StepClock {
 public:
  explicit StepClock(const StepPipeline& pipeline)
      : pipeline_(pipeline), ready_s_(pipeline.end.reduce_s.size(), 0.0) {}

  void add(const simulate::PipelineTimes& of_rank) {
    if (pipeline_.end.empty()) {
      computed_s_ = std::max(computed_s_, simulate::makespan(pipeline_.schedule, of_rank));
      return;
    }
    const std::vector<double> done = simulate::gradients_done(pipeline_.schedule, of_rank);
    for (std::size_t s = 0; s < done.size(); ++s) {
      ready_s_[s] = std::max(ready_s_[s], done[s]);
      computed_s_ = std::max(computed_s_, done[s]);
    }
  }
  double seconds() const {
    return simulate::run_step_end(pipeline_.schedule, pipeline_.end, ready_s_, computed_s_)
        .makespan_s;
  }

 private:
  const StepPipeline& pipeline_;
  std::vector<double> ready_s_;  // by stage
  double computed_s_ = 0;
};

}  // namespace

std::vector<std::vector<cluster::Link>> links_of_ranks(const cluster::ClusterSpec& cluster,
                                                       const cluster::ParallelSizes& sizes,
                                                       const schedule::Schedule& schedule) {
  std::vector<std::vector<cluster::Link>> links;
  for (std::int64_t rank = 0; rank < sizes.dp; ++rank) {
    links.push_back(simulate::boundary_links(cluster, sizes, rank, schedule));
  }
  return links;
}

std::vector<cost::Load> loads_of_step(const steps::StepTable& steps,
                                      std::span<const metrics::PackLoad> loads, std::int64_t step,
                                      std::int64_t rank) {
  std::vector<cost::Load> of_rank(static_cast<std::size_t>(steps.micro_batches));
  for (std::int64_t m = 0; m < steps.micro_batches; ++m) {
    const std::int64_t pack = steps.at(step, m, rank);
    if (pack == steps::kZeroWeightPack) continue;
    of_rank[static_cast<std::size_t>(m)] = metrics::to_load(loads[static_cast<std::size_t>(pack)]);
  }
  return of_rank;
}

void fill_step_times(const StepPipeline& pipeline, const steps::StepTable& steps,
                     std::span<const metrics::PackLoad> loads, std::int64_t step, std::int64_t rank,
                     simulate::PipelineTimes& times) {
  const std::span<const cluster::Link> links = pipeline.links.empty()
                                                   ? std::span<const cluster::Link>()
                                                   : pipeline.links[static_cast<std::size_t>(rank)];
  simulate::fill_pipeline_times(pipeline.stages, links, loads_of_step(steps, loads, step, rank),
                                times);
}

std::vector<double> step_seconds(const StepPipeline& pipeline, const steps::StepTable& steps,
                                 std::span<const metrics::PackLoad> loads, int threads) {
  std::vector<double> seconds(static_cast<std::size_t>(steps.num_steps));
  parallel_for(steps.num_steps, kStepsPerChunk, threads, [&](std::int64_t begin, std::int64_t end) {
    simulate::PipelineTimes times;
    for (std::int64_t step = begin; step < end; ++step) {
      StepClock clock(pipeline);
      for (std::int64_t rank = 0; rank < steps.dp; ++rank) {
        fill_step_times(pipeline, steps, loads, step, rank, times);
        clock.add(times);
      }
      seconds[static_cast<std::size_t>(step)] = clock.seconds();
    }
  });
  return seconds;
}

}  // namespace omnibal::plan
