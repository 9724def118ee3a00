// SPDX-License-Identifier: Apache-2.0
#include "ablation.h"

#include <algorithm>
#include <numeric>

#include "omnibal/joint/joint.h"
#include "omnibal/pack/baselines.h"
#include "omnibal/plan/epoch.h"

namespace omnibal::plan {
namespace {

/// What one row runs: which packs in which steps, through which stages.
struct RowSetup {
  std::string name;
  const PipelineProblem& problem;
  const steps::StepTable& steps;
  std::span<const metrics::PackLoad> loads;
  const partition::Cuts& cuts;
  const cost::LayerChoices& choices;
  cost::Load largest = problem.full_load;
};

/// Of the fullest rank, with the row's largest load in every micro-batch.
std::int64_t peak_bytes(const AblationTask& task, const RowSetup& setup) {
  const simulate::RankedStages ranked = simulate::ranked_stages(
      setup.problem.lists, cost::with_choices(task.plan.profile, setup.choices), setup.largest,
      setup.cuts, joint::to_mask(setup.choices));
  return std::ranges::max(ranked.ranks, {}, &metrics::RankSummary::peak_bytes).peak_bytes;
}

AblationRow simulate_row(const AblationTask& task, const RowSetup& setup) {
  const StepPipeline pipeline{
      .schedule = setup.problem.schedule,
      .stages = simulate::chosen_stage_costs(simulate::pipeline_layers(task.plan.profile),
                                             setup.cuts, setup.choices),
      .links = {}};
  const std::vector<double> seconds =
      step_seconds(pipeline, setup.steps, setup.loads, task.problem.threads);
  const double total = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  return {.name = setup.name,
          .step_s = total / static_cast<double>(seconds.size()),
          .gpu_days = total * static_cast<double>(task.plan.sizes.gpus()) / 86400,
          .speedup = 0,
          .cuts = partition::first_layers(setup.cuts),
          .peak_bytes = peak_bytes(task, setup)};
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

/// Rows simulated one after the other.
class Rows {
 public:
  Rows(std::int64_t count, const Progress& progress) : count_(count), progress_(progress) {}

  void add(const AblationTask& task, const RowSetup& setup) {
    report(progress_, "simulating the epoch", static_cast<std::int64_t>(rows_.size()), count_);
    rows_.push_back(simulate_row(task, setup));
    rows_.back().speedup = rows_.front().gpu_days / rows_.back().gpu_days;
  }
  std::vector<AblationRow> take() { return std::move(rows_); }

 private:
  std::int64_t count_;
  const Progress& progress_;
  std::vector<AblationRow> rows_;
};

/// The plan's packs in random order.
Result<steps::StepTable> random_steps(const AblationTask& task) {
  return steps::deal_randomly(task.plan.data.grouping.packs.size(), *task.plan.data_options.steps);
}

Status add_paper_rows(const AblationTask& task, Rows& rows) {
  const Plan& plan = task.plan;
  OMNIBAL_ASSIGN(const Baseline baseline, random_baseline(task));
  OMNIBAL_ASSIGN(const steps::StepTable random, random_steps(task));
  OMNIBAL_ASSIGN(const partition::Cuts even,
                 cuts_by(PartitionMethod::kEvenParameters, task.problem));
  const cost::LayerChoices full = joint::to_choices(recompute::recompute_full(task.problem.layers));
  const PipelineProblem& problem = task.problem;
  const PipelineChoice& two_steps = task.two_steps;
  rows.add(task, {"baseline", problem, baseline.steps, baseline.loads, even, full,
                  metrics::largest_load(baseline.loads)});
  rows.add(task, {"+data", problem, random, plan.data.loads, even, full});
  rows.add(task, {"+model", problem, random, plan.data.loads, two_steps.cuts, full});
  rows.add(task, {"+memory", problem, random, plan.data.loads, two_steps.cuts, two_steps.choices});
  return {};
}

}  // namespace

Result<std::vector<AblationRow>> make_ablation(const AblationTask& paper, const AblationTask& task,
                                               const OwnPipeline& own, const Progress& progress) {
  const bool other_packs = &paper.plan != &task.plan;
  const bool other_schedule = own.problem.kind != task.problem.kind;
  Rows rows(7 + (other_packs ? 1 : 0) + (other_schedule ? 1 : 0), progress);
  OMNIBAL_RETURN_IF_ERROR(add_paper_rows(paper, rows));
  OMNIBAL_ASSIGN(const steps::StepTable random, random_steps(task));
  const Plan& plan = task.plan;
  if (other_packs) {
    rows.add(task, {"+packs", task.problem, random, plan.data.loads, task.two_steps.cuts,
                    task.two_steps.choices});
  }
  rows.add(task,
           {"+joint", task.problem, random, plan.data.loads, own.joint.cuts, own.joint.choices});
  if (other_schedule) {
    rows.add(task, {"+schedule", own.problem, random, plan.data.loads, plan.cuts, plan.choices});
  }
  rows.add(task, {"+steps", own.problem, *task.dealt, plan.data.loads, plan.cuts, plan.choices});
  rows.add(task,
           {"+order", own.problem, *plan.data.steps, plan.data.loads, plan.cuts, plan.choices});
  return rows.take();
}

}  // namespace omnibal::plan
