// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/zero3_prediction.h"

#include <algorithm>
#include <cmath>

#include "omnibal/base/parallel.h"
#include "omnibal/base/philox.h"
#include "omnibal/cost/analytic.h"
#include "omnibal/pack/baselines.h"
#include "omnibal/plan/epoch.h"
#include "omnibal/recompute/bar.h"
#include "omnibal/simulate/zero3.h"

namespace omnibal::plan {
namespace {

constexpr std::int64_t kZero3StepsPerChunk = 16;

/// What runs on every rank; collectives are part of the achieved rate.
simulate::Zero3Case zero3_case(const cost::Profile& profile,
                               const recompute::RecomputeMask& recompute, std::int64_t gpus) {
  return {.profile = profile,
          .recompute = recompute,
          .num_ranks = gpus,
          .waiting = simulate::Zero3Waiting::kOnceAStep};
}

Result<std::int64_t> peak_of(const simulate::Zero3Case& zero3, const cost::Load& load) {
  OMNIBAL_ASSIGN(const simulate::Zero3Program program, simulate::compile_zero3(zero3));
  return simulate::zero3_peak_bytes(zero3, program, load);
}

Result<Zero3Run> run_epoch(const simulate::Zero3Case& zero3, const steps::StepTable& table,
                           std::span<const metrics::PackLoad> loads, int threads) {
  OMNIBAL_ASSIGN(const simulate::Zero3Program program, simulate::compile_zero3(zero3));
  std::vector<double> seconds(static_cast<std::size_t>(table.num_steps));
  parallel_for(
      table.num_steps, kZero3StepsPerChunk, threads, [&](std::int64_t begin, std::int64_t end) {
        std::vector<std::vector<cost::Load>> of_ranks(static_cast<std::size_t>(table.dp));
        for (std::int64_t step = begin; step < end; ++step) {
          for (std::int64_t rank = 0; rank < table.dp; ++rank) {
            of_ranks[static_cast<std::size_t>(rank)] = loads_of_step(table, loads, step, rank);
          }
          seconds[static_cast<std::size_t>(step)] = simulate::makespan(program, of_ranks);
        }
      });
  double total = 0;
  for (const double step_s : seconds) total += step_s;
  Zero3Run run{.steps = table.num_steps,
               .micro_batches = table.micro_batches,
               .step_s = total / static_cast<double>(table.num_steps),
               .gpu_days = total * static_cast<double>(zero3.num_ranks) / 86400,
               .recomputed_layers = std::ranges::count(zero3.recompute, true)};
  OMNIBAL_ASSIGN(run.peak_bytes, peak_of(zero3, metrics::largest_load(loads)));
  return run;
}

/// As many micro-batches a rank as come nearest to `packs` a step, at least one.
steps::StepOptions options_for(const Zero3Task& task, double packs) {
  const auto nearest = std::llround(packs / static_cast<double>(task.gpus));
  return {.dp = task.gpus,
          .micro_batches = std::max<std::int64_t>(1, nearest),
          .window = task.window,
          .seed = task.seed};
}

double samples_a_step(const Zero3Task& task) {
  return static_cast<double>(task.global_batch) / static_cast<double>(task.micro_batch);
}

Result<Zero3Run> run_baseline(const Zero3Task& task, const cost::Profile& profile,
                              const recompute::RecomputeMask& full) {
  // A rank's share of the corpus as it is ordered would be of few sources.
  std::vector<std::uint32_t> shuffled(task.accepted.begin(), task.accepted.end());
  PhiloxRng rng(task.seed, RngStream::kBaselineShuffle, static_cast<std::uint32_t>(task.gpus));
  shuffle(std::span(shuffled), rng);
  const pack::MicroBatches batches = pack::random_micro_batches(
      task.samples, shuffled, {.size = task.micro_batch, .dp = task.gpus, .seed = task.seed});
  const std::vector<metrics::PackLoad> loads =
      metrics::padded_loads(batches.groups.view(), task.samples);
  OMNIBAL_ASSIGN(const steps::StepTable table,
                 steps::steps_from_grid(batches.grid, batches.groups.size(),
                                        options_for(task, samples_a_step(task))));
  return run_epoch(zero3_case(profile, full, task.gpus), table, loads, task.threads);
}

Result<Zero3Run> run_balanced(const Zero3Task& task, const cost::Profile& profile,
                              const recompute::RecomputeMask& full) {
  OMNIBAL_ASSIGN(const steps::StepTable table,
                 steps::deal_randomly(static_cast<std::int64_t>(task.paper_packs.size()),
                                      options_for(task, samples_a_step(task))));
  return run_epoch(zero3_case(profile, full, task.gpus), table, task.paper_packs, task.threads);
}

/// The least recomputation that fits, in the paper's way: the first layers of each class.
Result<recompute::RecomputeMask> least_recomputation(const Zero3Task& task,
                                                     const cost::Profile& profile,
                                                     std::span<const recompute::BarLayer> layers) {
  const cost::Load worst = metrics::largest_load(task.planned_packs);
  OMNIBAL_RETURN_IF_ERROR(peak_of(zero3_case(profile, {}, task.gpus), worst));
  return recompute::bar({layers, {}, task.memory_bytes},
                        [&](StageIndex, const recompute::RecomputeMask& mask) {
                          return *peak_of(zero3_case(profile, mask, task.gpus), worst);
                        });
}

Result<Zero3Run> run_planned(const Zero3Task& task, const cost::Profile& profile,
                             std::span<const recompute::BarLayer> layers) {
  OMNIBAL_ASSIGN(const recompute::RecomputeMask mask, least_recomputation(task, profile, layers));
  steps::StepOptions options = options_for(task, task.packs_a_step);
  options.forward = cost::total_forward(profile);
  OMNIBAL_ASSIGN(const steps::StepTable table, steps::form_steps(task.planned_packs, options));
  return run_epoch(zero3_case(profile, mask, task.gpus), table, task.planned_packs, task.threads);
}

codec::Json run_json(const Zero3Run& run) {
  return {{"steps", run.steps},           {"micro_batches", run.micro_batches},
          {"step_s", run.step_s},         {"gpu_days", run.gpu_days},
          {"peak_bytes", run.peak_bytes}, {"recomputed_layers", run.recomputed_layers}};
}

}  // namespace

Result<double> zero3_rate(double tflops, const cluster::ClusterSpec& cluster) {
  const double rate = 1e12 * tflops;
  if (rate > 0 && rate <= cluster.peak_flops) return rate;
  return Error(ErrorCode::kInvalidArgument, "ZeRO-3 computes between nothing and the peak")
      .at_key("--zero3")
      .with_value(tflops)
      .with_limit(cluster.peak_flops / 1e12);
}

Result<Zero3Prediction> predict_zero3(const Zero3Task& task) {
  cluster::ClusterSpec cluster = task.cluster;
  cluster.achieved_flops = task.achieved_flops;
  Zero3Prediction zero3;
  zero3.achieved_flops = cluster.achieved_flops;
  OMNIBAL_ASSIGN(const cost::Profile profile,
                 cost::analytic_profile(task.model, cluster, {.tp = 1, .dp = task.gpus}));
  const cost::Load worst = metrics::largest_load(task.planned_packs);
  OMNIBAL_RETURN_IF_ERROR(cost::check_bytes(profile, worst, 1));
  const std::vector<recompute::BarLayer> layers =
      recompute::bar_layers(profile, cost::evaluate(profile, worst));
  const recompute::RecomputeMask full = recompute::recompute_full(layers);
  OMNIBAL_ASSIGN(zero3.baseline, run_baseline(task, profile, full));
  OMNIBAL_ASSIGN(zero3.balanced, run_balanced(task, profile, full));
  OMNIBAL_ASSIGN(zero3.planned, run_planned(task, profile, layers));
  return zero3;
}

codec::Json to_json(const Zero3Prediction& prediction) {
  return {{"achieved_flops", prediction.achieved_flops},
          {"baseline", run_json(prediction.baseline)},
          {"balanced", run_json(prediction.balanced)},
          {"planned", run_json(prediction.planned)}};
}

}  // namespace omnibal::plan
