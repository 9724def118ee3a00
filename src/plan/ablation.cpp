// SPDX-License-Identifier: Apache-2.0
#include "ablation.h"

#include <numeric>

#include "omnibal/pack/baselines.h"
#include "omnibal/plan/epoch.h"

namespace omnibal::plan {
namespace {

/// What one row runs: which packs in which steps, through which stages.
struct RowSetup {
  std::string name;
  const steps::StepTable& steps;
  std::span<const metrics::PackLoad> loads;
  const partition::Cuts& cuts;
  const recompute::RecomputeMask& recompute;
};

AblationRow simulate_row(const AblationTask& task, const RowSetup& setup) {
  const StepPipeline pipeline{
      .schedule = task.problem.schedule,
      .stages = simulate::stage_costs(task.plan.profile, setup.cuts, setup.recompute),
      .links = {}};
  const std::vector<double> seconds =
      step_seconds(pipeline, setup.steps, setup.loads, task.problem.threads);
  const double total = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  return {.name = setup.name,
          .step_s = total / static_cast<double>(seconds.size()),
          .gpu_days = total * static_cast<double>(task.plan.sizes.gpus()) / 86400};
}

/// Table 3's `random`: padded micro-batches and the steps they make.
struct Baseline {
  std::vector<metrics::PackLoad> loads;
  steps::StepTable steps;
};

Result<Baseline> random_baseline(const AblationTask& task) {
  const metrics::SampleColumns samples = columns(task.corpus, task.plan.data);
  const DataPlanOptions& options = task.plan.data_options;
  const pack::MicroBatches batches = pack::random_micro_batches(
      samples, task.plan.data.admission.accepted,
      {.size = options.micro_batch, .dp = task.plan.sizes.dp, .seed = options.seed});
  Baseline baseline{.loads = metrics::padded_loads(batches.groups.view(), samples), .steps = {}};
  OMNIBAL_ASSIGN(baseline.steps,
                 steps::steps_from_grid(batches.grid, batches.groups.size(), *options.steps));
  return baseline;
}

}  // namespace

Result<std::vector<AblationRow>> make_ablation(const AblationTask& task, const Progress& progress) {
  const std::vector<metrics::PackLoad>& loads = task.plan.data.loads;
  OMNIBAL_ASSIGN(const Baseline baseline, random_baseline(task));
  OMNIBAL_ASSIGN(
      const steps::StepTable random_steps,
      steps::deal_randomly(task.plan.data.grouping.packs.size(), *task.plan.data_options.steps));
  OMNIBAL_ASSIGN(const partition::Cuts even,
                 cuts_by(PartitionMethod::kEvenParameters, task.problem));
  const recompute::RecomputeMask full = recompute::recompute_full(task.problem.layers);
  const partition::Cuts& cuts = task.plan.cuts;
  const recompute::RecomputeMask& chosen = task.plan.recompute;

  std::vector<AblationRow> rows;
  for (const RowSetup& setup : {RowSetup{"baseline", baseline.steps, baseline.loads, even, full},
                                RowSetup{"+data", random_steps, loads, even, full},
                                RowSetup{"+model", random_steps, loads, cuts, full},
                                RowSetup{"+memory", random_steps, loads, cuts, chosen},
                                RowSetup{"+steps", *task.plan.data.steps, loads, cuts, chosen}}) {
    report(progress, "simulating the epoch", static_cast<std::int64_t>(rows.size()), 5);
    rows.push_back(simulate_row(task, setup));
    rows.back().speedup = rows.front().gpu_days / rows.back().gpu_days;
  }
  return rows;
}

}  // namespace omnibal::plan
