// SPDX-License-Identifier: Apache-2.0
#include "plan/layout_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "omnibal/base/parallel.h"
#include "omnibal/cost/recompute_choices.h"
#include "plan/layout_pipeline.h"
#include "plan/model_seconds.h"
#include "plan/pipeline_choice.h"

namespace omnibal::plan {
namespace {

constexpr std::int32_t kQuarters = 4;

struct Asked {
  Layout layout = Layout::kColocated;
  TowerChoice choice;
};

/// Quarters of the tower and schedules of the language pipeline, for one tower.
void add_choices(const LayoutTask& task, Layout layout, const SpreadTower& tower,
                 std::vector<Asked>& out) {
  const ScheduleSpec own{task.plan.schedule, task.plan.chunks};
  const ScheduleSpec one_f_one_b;
  for (std::int32_t quarters = 0; quarters <= kQuarters; ++quarters) {
    const double recompute = static_cast<double>(quarters) / kQuarters;
    out.push_back({layout, {tower, own, recompute}});
    if (own != one_f_one_b) out.push_back({layout, {tower, one_f_one_b, recompute}});
  }
}

std::vector<Asked> choices_of(const LayoutTask& task, Layout layout) {
  using schedule::VisionPlace;
  const cluster::ParallelSizes& sizes = task.plan.sizes;
  std::vector<Asked> choices;
  std::vector<std::int64_t> tps = {1};
  if (sizes.tp > 1) tps.push_back(sizes.tp);
  for (const std::int64_t tp : tps) {
    if (layout == Layout::kColocated) {
      add_choices(task, layout, {VisionPlace::kBefore, tp, sizes.pp}, choices);
      add_choices(task, layout, {VisionPlace::kNested, tp, sizes.pp}, choices);
    } else {
      const std::int64_t most = std::min(sizes.pp - 1, task.plan.micro_batches);
      for (std::int64_t ranks = 1; ranks <= most; ++ranks) {
        add_choices(task, layout, {VisionPlace::kApart, tp, ranks}, choices);
      }
    }
  }
  return choices;
}

/// Of a mean pack.
Result<TimeShares> shares_of(const LayoutTask& task, const LayoutPrediction& prediction,
                             const cost::Profile& profile, const cost::Profile& without_links) {
  const Plan& plan = task.plan;
  const cost::Load mean = metrics::mean_load(plan.data.loads);
  OMNIBAL_ASSIGN(
      DeviceSeconds seconds,
      device_seconds({task.model, plan.cluster, plan.sizes.tp, profile, without_links}, mean));
  seconds.all = prediction.gpu_days * 86400 / static_cast<double>(plan.data.loads.size());
  for (const simulate::StageCost& stage :
       simulate::stage_costs(profile, prediction.cuts, prediction.recompute)) {
    seconds.recompute += stage.recompute_s.at(mean) * static_cast<double>(plan.sizes.tp);
  }
  return time_shares(seconds);
}

/// The plan itself, in the terms of the others.
Result<LayoutPrediction> own_layout(const LayoutTask& task) {
  const Plan& plan = task.plan;
  LayoutPrediction own{.layout = Layout::kIntegrated,
                       .tower = std::nullopt,
                       .schedule = {plan.schedule, plan.chunks},
                       .cuts = plan.cuts,
                       .recompute = plan.recompute,
                       .step_s = plan.prediction.step_s,
                       .gpu_days = plan.prediction.gpu_days,
                       .bound_gpu_days = plan.bound_gpu_days,
                       .peak_bytes = plan.prediction.peak_bytes,
                       .shares = {},
                       .certificate = plan.certificate};
  PlanRequest free = task.request;
  free.free_links = true;
  OMNIBAL_ASSIGN(const cost::Profile without_links,
                 profile_for(task.model, plan.cluster, free, plan.sizes));
  OMNIBAL_ASSIGN(own.shares, shares_of(task, own, cost::with_choices(plan.profile, plan.choices),
                                       without_links));
  return own;
}

/// The best of choices that differ in nothing but what `same` compares.
template <class Same>
void keep_best(std::vector<LayoutPipeline>& pipelines, const Same& same) {
  std::ranges::stable_sort(pipelines, {}, &LayoutPipeline::judged_s);
  std::vector<LayoutPipeline> best;
  for (LayoutPipeline& pipeline : pipelines) {
    const auto known = [&](const LayoutPipeline& other) { return same(pipeline, other); };
    if (std::ranges::none_of(best, known)) best.push_back(std::move(pipeline));
  }
  pipelines = std::move(best);
}

/// Over all steps of the epoch.
Result<LayoutPrediction> predict(const LayoutTask& task, Layout layout,
                                 const LayoutPipeline& pipeline) {
  const Plan& plan = task.plan;
  OMNIBAL_ASSIGN(const StepPipeline steps, pipeline_of(plan, pipeline));
  const std::vector<double> seconds =
      step_seconds(steps, *plan.data.steps, plan.data.loads, task.request.threads);
  const double total = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  LayoutPrediction made{
      .layout = layout,
      .tower = pipeline.choice.tower,
      .schedule = pipeline.choice.schedule,
      .cuts = pipeline.cuts,
      .recompute = pipeline.recompute,
      .step_s = total / static_cast<double>(seconds.size()),
      .gpu_days = total * static_cast<double>(plan.sizes.gpus()) / 86400,
      .bound_gpu_days = bound_gpu_days(pipeline.profile, task.placed,
                                       plan.data.grouping.packs.size(), plan.sizes.tp),
      .peak_bytes = pipeline.peak_bytes,
      .shares = {},
      .certificate = pipeline.certificate};
  OMNIBAL_ASSIGN(const cost::Profile without_links,
                 profile_of_tower(task, pipeline.choice.tower, false));
  OMNIBAL_ASSIGN(made.shares, shares_of(task, made, pipeline.profile, without_links));
  return made;
}

Status add_layout(const LayoutTask& task, Layout layout, LayoutComparison& comparison) {
  const std::vector<Asked> asked = choices_of(task, layout);
  std::vector<std::optional<Result<LayoutPipeline>>> made(asked.size());
  parallel_for_each(asked.size(), task.request.threads,
                    [&](std::size_t i) { made[i] = cut_language(task, asked[i].choice); });
  std::vector<LayoutPipeline> pipelines;
  std::string reason = "a pipeline of one rank leaves none to the tower";
  for (std::optional<Result<LayoutPipeline>>& one : made) {
    if (*one) {
      pipelines.push_back(**std::move(one));
    } else {
      reason = one->error().message;
    }
  }
  if (pipelines.empty()) comparison.refused.push_back({layout, reason});
  keep_best(pipelines, [](const LayoutPipeline& a, const LayoutPipeline& b) {
    return a.choice.tower.place == b.choice.tower.place;
  });
  for (const LayoutPipeline& pipeline : pipelines) {
    OMNIBAL_ASSIGN(LayoutPrediction prediction, predict(task, layout, pipeline));
    comparison.ranked.push_back(std::move(prediction));
  }
  return {};
}

}  // namespace

Result<LayoutComparison> compare_layouts(const LayoutTask& task) {
  LayoutComparison comparison;
  OMNIBAL_ASSIGN(LayoutPrediction own, own_layout(task));
  comparison.ranked.push_back(std::move(own));
  for (const Layout layout : task.asked) {
    OMNIBAL_RETURN_IF_ERROR(add_layout(task, layout, comparison));
  }
  std::ranges::stable_sort(comparison.ranked, {}, &LayoutPrediction::step_s);
  LayoutPrediction& best = comparison.ranked.front();
  best.reason = why_it_wins(best.shares);
  for (LayoutPrediction& other : std::span(comparison.ranked).subspan(1)) {
    other.reason = why_it_loses({other.shares, other.gpu_days}, {best.shares, best.gpu_days});
  }
  return comparison;
}

}  // namespace omnibal::plan
