// SPDX-License-Identifier: Apache-2.0
#include "plan/size_candidate.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "omnibal/cost/analytic.h"
#include "plan/cap_grid.h"
#include "plan/limit_prediction.h"
#include "plan/model_seconds.h"

namespace omnibal::plan {
namespace {

using Pair = std::pair<std::int64_t, std::int64_t>;  // vision cap, token cap

/// Caps as multiples of what the largest sample needs.
constexpr std::array kScales = {1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0};
/// Of the corpus's own ratio of vision units to tokens: packs fill both caps at once nowhere.
constexpr std::array kVisionPerToken = {0.9, 1.05};

/// A few pairs along the corpus's ratio, inside the grid.
std::vector<Pair> few_caps(const LimitProblem& problem, const CapGrid& grid) {
  const double ratio = problem.mean.vision_units / std::max(1.0, problem.mean.tokens);
  std::set<Pair> pairs;
  for (const double scale : kScales) {
    const auto wanted = static_cast<std::int64_t>(scale * static_cast<double>(grid.tokens.lowest));
    const std::int64_t tokens = grid.tokens.below(wanted + grid.tokens.unit, 0);
    for (const double balance : kVisionPerToken) {
      const auto vision =
          static_cast<std::int64_t>(ratio * balance * static_cast<double>(tokens) + 0.5);
      pairs.emplace(std::clamp(vision, grid.vision.lowest, grid.vision.highest),
                    std::clamp(tokens, grid.tokens.lowest, grid.tokens.highest));
    }
  }
  return {pairs.begin(), pairs.end()};
}

LimitTask limit_task(const SizeTask& task, const TrainingTarget& target) {
  return {.samples = task.samples,
          .target = target,
          .asked = caps_asked(task, target.sizes.tp),
          .method = task.request.data.method,
          .micro_batch = task.request.micro_batch,
          .window = task.request.data.steps.value_or(steps::StepOptions{}).window,
          .seed = task.request.data.seed,
          .threads = 1};
}

/// Shares of the time in which sizes.gpus() devices train one sample.
Result<TimeShares> shares_of(const SizeTask& task, const TrainingTarget& target,
                             const cost::Load& mean, const CapPrediction& prediction) {
  TimeShares shares;
  const auto tp = static_cast<double>(target.sizes.tp);
  const double all = prediction.seconds_per_sample * static_cast<double>(target.sizes.gpus());
  const double busy = useful_seconds(target.profile, mean) * tp;
  double split = busy;
  double once = busy;
  if (!task.request.profile) {
    const cost::AnalyticOptions free{
        .tp = target.sizes.tp, .dp = target.sizes.dp, .heads = task.request.heads};
    OMNIBAL_ASSIGN(const cost::Profile no_links,
                   cost::analytic_profile(task.model, task.cluster, free));
    OMNIBAL_ASSIGN(const cost::Profile alone, cost::analytic_profile(task.model, task.cluster, {}));
    split = useful_seconds(no_links, mean) * tp;
    once = useful_seconds(alone, mean);
  }
  shares.model = once / all;
  shares.replicated = (split - once) / all;
  shares.tensor = (busy - split) / all;
  shares.recompute = busy * prediction.recompute_share / (1 - prediction.recompute_share) / all;
  shares.idle =
      std::max(0.0, 1 - shares.model - shares.replicated - shares.tensor - shares.recompute);
  return shares;
}

Result<SizeCandidate> candidate_of(const SizeTask& task, const TrainingTarget& target,
                                   const LimitProblem& problem, const CapPrediction& prediction) {
  SizeCandidate candidate{.sizes = target.sizes,
                          .schedule = {target.schedule, target.chunks},
                          .prediction = prediction,
                          .shares = {}};
  candidate.gpu_days = prediction.seconds_per_sample *
                       static_cast<double>(problem.usable.size() * target.sizes.gpus()) / 86400;
  OMNIBAL_ASSIGN(candidate.shares, shares_of(task, target, problem.mean, prediction));
  return candidate;
}

}  // namespace

CapQuestion caps_asked(const SizeTask& task, std::int64_t tp) {
  CapQuestion asked = task.request.caps.value_or(CapQuestion{});
  if (!task.request.caps) {
    const pack::PackLimits& limits = task.request.data.limits;
    asked.vision_cap = limits.vision_cap;
    asked.token_cap = limits.token_cap;
    asked.rules.vision_floor = limits.vision_floor;
    asked.rules.token_floor = limits.token_floor;
    asked.rules.rounds = limits.rounds;
  }
  asked.rules.token_multiple = pack::token_multiple(1, tp);
  return asked;
}

Result<TrainingTarget> target_of(const SizeTask& task, const RunShape& shape) {
  const PlanRequest& request = task.request;
  TrainingTarget target{.model_name = task.model.name,
                        .profile = {},
                        .cluster = task.cluster,
                        .sizes = shape.sizes,
                        .schedule = shape.schedule.kind,
                        .chunks = shape.schedule.chunks,
                        .memory_bytes = request.memory_bytes.value_or(task.cluster.usable_bytes()),
                        .global_batch = request.global_batch,
                        .free_links = request.free_links};
  OMNIBAL_ASSIGN(target.profile, profile_for(task.model, task.cluster, request, shape.sizes));
  return target;
}

Result<SizeCandidate> predict_quickly(const SizeTask& task, const RunShape& shape) {
  OMNIBAL_ASSIGN(const TrainingTarget target, target_of(task, shape));
  const LimitTask limits = limit_task(task, target);
  OMNIBAL_ASSIGN(const LimitProblem problem, limit_problem(limits));
  OMNIBAL_ASSIGN(const CapGrid grid, cap_grid(problem));
  CapPrediction best;
  for (const auto& [vision, tokens] : few_caps(problem, grid)) {
    const CapPrediction prediction = predict_with(problem, problem.few, vision, tokens);
    if (prediction.seconds_per_sample < best.seconds_per_sample) best = prediction;
  }
  if (!best.fits()) return why_not(problem, grid.vision.lowest, grid.tokens.lowest);
  return candidate_of(task, target, problem, best);
}

Result<SizeCandidate> predict_in_full(const SizeTask& task, const RunShape& shape) {
  OMNIBAL_ASSIGN(const TrainingTarget target, target_of(task, shape));
  LimitTask limits = limit_task(task, target);
  limits.threads = task.request.threads;
  OMNIBAL_ASSIGN(const LimitProblem problem, limit_problem(limits));
  OMNIBAL_ASSIGN(LimitChoice choice, choose_limits(limits, {}));
  OMNIBAL_ASSIGN(SizeCandidate candidate, candidate_of(task, target, problem, choice.best));
  candidate.caps = std::move(choice);
  return candidate;
}

}  // namespace omnibal::plan
