// SPDX-License-Identifier: Apache-2.0
//
// bench_simulate STEPS: seconds to simulate STEPS steps of 64 devices (8 pipelines of 8 ranks) with
// 32 micro-batches of their own loads, on one thread: every schedule, times filled in from loads;
// with the breakdown; and ZeRO-3 on 64 ranks with 4 micro-batches.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "omnibal/base/philox.h"
#include "omnibal/cluster/cluster.h"
#include "omnibal/cost/analytic.h"
#include "omnibal/model/model.h"
#include "omnibal/simulate/stage_times.h"
#include "omnibal/simulate/step.h"
#include "omnibal/simulate/zero3.h"

namespace omnibal {
namespace {

constexpr std::int32_t kRanks = 8;
constexpr std::int32_t kPipelines = 8;
constexpr std::int32_t kMicroBatches = 32;

template <class Work>
double seconds_of(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<cost::Load> random_loads(PhiloxRng& rng, std::int32_t count) {
  std::vector<cost::Load> loads;
  for (std::int32_t m = 0; m < count; ++m) {
    loads.push_back({static_cast<double>(1 + rng.below(9)),
                     static_cast<double>(1000 + rng.below(3097)), 1e6 * (1 + rng.uniform())});
  }
  return loads;
}

std::vector<std::vector<cost::Load>> random_step(PhiloxRng& rng, std::int32_t ranks,
                                                 std::int32_t micro_batches) {
  std::vector<std::vector<cost::Load>> loads;
  for (std::int32_t r = 0; r < ranks; ++r) loads.push_back(random_loads(rng, micro_batches));
  return loads;
}

/// Sums keep the work from being left out.
Status measure_pipeline(const cost::Profile& profile, schedule::ScheduleKind kind, int num_steps) {
  const std::int32_t chunks = schedule::fewest_chunks(kind);
  OMNIBAL_ASSIGN(const schedule::Schedule schedule,
                 schedule::make_schedule(kind, kRanks * chunks, kMicroBatches, {.chunks = chunks}));
  OMNIBAL_ASSIGN(const simulate::CompiledSchedule compiled, simulate::compile(schedule));
  OMNIBAL_ASSIGN(const partition::Cuts cuts,
                 partition::partition_even_layers(static_cast<std::int32_t>(profile.layers.size()),
                                                  schedule.num_stages));
  const std::vector<simulate::StageCost> stages = simulate::stage_costs(profile, cuts, {});
  PhiloxRng rng(1, RngStream::kTest);
  const auto loads = random_step(rng, kPipelines, kMicroBatches);
  double total_s = 0;
  const double makespans_s = seconds_of([&] {
    simulate::PipelineTimes times;
    for (int step = 0; step < num_steps; ++step) {
      for (const std::vector<cost::Load>& rank : loads) {
        simulate::fill_pipeline_times(stages, {}, rank, times);
        total_s += simulate::makespan(compiled, times);
      }
    }
  });
  std::vector<simulate::PipelineTimes> pipelines;
  for (const auto& rank : loads) {
    pipelines.push_back(simulate::pipeline_times(stages, {}, rank));
  }
  const double breakdowns_s = seconds_of([&] {
    for (int step = 0; step < num_steps; ++step) {
      total_s += simulate::simulate_step(compiled, pipelines)->makespan_s;
    }
  });
  fmt::print("{:12} {:8.3f} s, with breakdown {:8.3f} s  (sum {:.0f})\n", to_string(kind),
             makespans_s, breakdowns_s, total_s);
  return {};
}

Status measure_zero3(const cost::Profile& profile, const cluster::ClusterSpec& cluster,
                     int num_steps) {
  OMNIBAL_ASSIGN(const simulate::Zero3Program program,
                 simulate::compile_zero3({.profile = profile,
                                          .recompute = {},
                                          .num_ranks = kRanks * kPipelines,
                                          .cluster = &cluster}));
  PhiloxRng rng(2, RngStream::kTest);
  const auto loads = random_step(rng, kRanks * kPipelines, 4);
  double total_s = 0;
  const double seconds = seconds_of([&] {
    for (int step = 0; step < num_steps; ++step) total_s += simulate::makespan(program, loads);
  });
  fmt::print("{:12} {:8.3f} s  (sum {:.0f})\n", "zero-3", seconds, total_s);
  return {};
}

Status measure(int num_steps) {
  OMNIBAL_ASSIGN(const model::ModelSpec model, model::load_model("internvl-chat-1.5-26b"));
  OMNIBAL_ASSIGN(const cluster::ClusterSpec cluster, cluster::load_cluster("a100-80g"));
  OMNIBAL_ASSIGN(const cost::Profile profile,
                 cost::analytic_profile(model, cluster, {.tp = 1, .dp = kPipelines}));
  fmt::print("{} steps, {} devices, {} micro-batches, one thread\n", num_steps, kRanks * kPipelines,
             kMicroBatches);
  for (const std::string& name : schedule::schedule_kinds()) {
    OMNIBAL_ASSIGN(const schedule::ScheduleKind kind, schedule::parse_schedule_kind(name));
    OMNIBAL_RETURN_IF_ERROR(measure_pipeline(profile, kind, num_steps));
  }
  return measure_zero3(profile, cluster, num_steps);
}

}  // namespace
}  // namespace omnibal

int main(int argc, char** argv) {
  const omnibal::Status done = omnibal::measure(argc > 1 ? std::atoi(argv[1]) : 1000);
  if (!done.ok()) fmt::print(stderr, "{}\n", done.error().message);
  return done.ok() ? 0 : 1;
}
