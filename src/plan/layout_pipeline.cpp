// SPDX-License-Identifier: Apache-2.0
#include "plan/layout_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "omnibal/simulate/stage_memory.h"
#include "plan/joint_choice.h"
#include "plan/pipeline_choice.h"
#include "plan/prediction.h"

namespace omnibal::plan {
namespace {

/// The first `part` of the tower's layers that can recompute.
recompute::RecomputeMask tower_mask(std::span<const cost::LayerCost> tower, double part) {
  const auto able =
      static_cast<double>(std::ranges::count(tower, true, &cost::LayerCost::can_recompute));
  auto left = static_cast<std::int64_t>(part * able + 0.5);
  recompute::RecomputeMask mask(tower.size(), false);
  for (std::size_t i = 0; i < tower.size() && left > 0; ++i) {
    if (!tower[i].can_recompute) continue;
    mask[i] = true;
    --left;
  }
  return mask;
}

/// What a rank of the language pipeline holds of the tower.
std::int64_t bytes_of_tower(std::span<const cost::LayerCost> tower,
                            const recompute::RecomputeMask& mask, std::int64_t held) {
  if (held == 0) return 0;
  std::int64_t fixed = 0;
  std::int64_t kept = 0;
  std::int64_t transient = 0;
  for (std::size_t i = 0; i < tower.size(); ++i) {
    fixed += tower[i].static_bytes;
    kept += mask[i] ? tower[i].recomputed_bytes : tower[i].activation_bytes;
    if (mask[i]) transient = std::max(transient, tower[i].transient());
  }
  return fixed + held * kept + transient;
}

Error no_room(std::int64_t bytes, std::int64_t limit) {
  return Error(ErrorCode::kMemoryInfeasible,
               fmt::format("with its vision tower a rank needs {} bytes", bytes))
      .at_key("--memory")
      .with_value(bytes)
      .with_limit(limit)
      .with_hint("raise --memory, or lower the caps");
}

/// The plan's packs through the language layers alone.
Plan language_plan(const Plan& plan, const cost::Profile& profile, std::size_t num_vision,
                   const TowerChoice& choice) {
  Plan language = without_choice(plan);
  language.profile = profile;
  language.profile.layers.erase(
      language.profile.layers.begin(),
      language.profile.layers.begin() + static_cast<std::ptrdiff_t>(num_vision));
  language.schedule = choice.schedule.kind;
  language.chunks = choice.schedule.chunks;
  if (choice.tower.place == schedule::VisionPlace::kApart) language.sizes.pp -= choice.tower.ranks;
  return language;
}

/// All layers' cuts and recomputation: the tower in front of the language layers.
void put_together(const PipelineChoice& language, const recompute::RecomputeMask& tower,
                  LayoutPipeline& out) {
  const auto num_vision = static_cast<std::int32_t>(tower.size());
  out.cuts = {LayerIndex{num_vision}};
  for (const LayerIndex cut : language.cuts) {
    out.cuts.push_back(LayerIndex{cut.value() + num_vision});
  }
  out.recompute = tower;
  out.recompute.insert(out.recompute.end(), language.recompute.begin(), language.recompute.end());
}

Status judge(const Plan& plan, LayoutPipeline& out) {
  const std::vector<cost::Load> loads(static_cast<std::size_t>(out.schedule.num_micro_batches),
                                      full_pack(plan.data_options.limits));
  out.peak_bytes = std::ranges::max(
      simulate::peak_bytes(out.schedule, out.profile, out.cuts, out.recompute, loads));
  if (out.peak_bytes > plan.memory_bytes) return no_room(out.peak_bytes, plan.memory_bytes);
  OMNIBAL_ASSIGN(const StepPipeline pipeline, pipeline_of(plan, out));
  const std::vector<double> seconds =
      step_seconds(pipeline, evenly_drawn(*plan.data.steps), plan.data.loads, 1);
  out.judged_s =
      std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
  return {};
}

}  // namespace

Result<cost::Profile> profile_of_tower(const LayoutTask& task, const SpreadTower& tower,
                                       bool tensor_links) {
  const cluster::ParallelSizes& sizes = task.plan.sizes;
  return spread_profile(
      task.model, task.plan.cluster,
      {.tp = sizes.tp, .dp = sizes.dp, .heads = task.request.heads, .tensor_links = tensor_links},
      sizes, tower);
}

Result<LayoutPipeline> cut_language(const LayoutTask& task, const TowerChoice& choice) {
  const Plan& plan = task.plan;
  LayoutPipeline made;
  made.choice = choice;
  OMNIBAL_ASSIGN(made.profile, profile_of_tower(task, choice.tower, !plan.free_links));
  const auto num_vision = static_cast<std::size_t>(num_vision_layers(made.profile));
  const std::vector<cost::LayerCost> costs =
      cost::evaluate(made.profile, full_pack(plan.data_options.limits));
  const auto tower = std::span(costs).first(num_vision);
  const recompute::RecomputeMask mask = tower_mask(tower, choice.recompute);
  Plan language = language_plan(plan, made.profile, num_vision, choice);
  const std::int64_t held = held_by_language_rank(choice.tower, plan.micro_batches);
  language.memory_bytes -= bytes_of_tower(tower, mask, held);
  if (language.memory_bytes <= 0) {
    return no_room(plan.memory_bytes - language.memory_bytes, plan.memory_bytes);
  }
  OMNIBAL_ASSIGN(const PipelineProblem problem, pipeline_problem(language, 1));
  const Result<PipelineChoice> start = choose_quickly(problem);
  OMNIBAL_ASSIGN(const JointChoice joint,
                 choose_jointly(problem, language, start ? std::optional(*start) : std::nullopt));
  put_together(joint.pipeline, mask, made);
  made.schedule = schedule::with_vision_stage(
      problem.lists, {choice.tower.place, static_cast<std::int32_t>(choice.tower.ranks)});
  OMNIBAL_RETURN_IF_ERROR(judge(plan, made));
  return made;
}

Result<StepPipeline> pipeline_of(const Plan& plan, const LayoutPipeline& pipeline) {
  OMNIBAL_ASSIGN(simulate::CompiledSchedule compiled, simulate::compile(pipeline.schedule));
  StepPipeline steps{
      .schedule = std::move(compiled),
      .stages = simulate::stage_costs(pipeline.profile, pipeline.cuts, pipeline.recompute),
      .links = {}};
  steps.stages.front().unit_multiple = unit_multiple(pipeline.choice.tower, plan.sizes.tp);
  if (plan.free_links) return steps;
  steps.links = links_of_ranks(plan.cluster, plan.sizes, pipeline.schedule);
  OMNIBAL_ASSIGN(steps.end, timed_end({pipeline.profile, pipeline.cuts, pipeline.schedule,
                                       plan.cluster, plan.sizes}));
  return steps;
}

}  // namespace omnibal::plan
