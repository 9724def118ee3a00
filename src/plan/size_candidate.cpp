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

/// A few pairs along the corpus's ratio, inside the grid, and the one that needs least memory.
std::vector<Pair> few_caps(const LimitProblem& problem, const CapGrid& grid) {
  const double ratio = problem.mean.vision_units / std::max(1.0, problem.mean.tokens);
  std::set<Pair> pairs = {{grid.vision.lowest, grid.tokens.lowest}};
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

/// Usable samples that fit in a pack under some caps.
struct Held {
  std::int64_t samples = 0;
  cost::Load mean;
};

Held held_by(const LimitProblem& problem, const CapPrediction& caps) {
  const std::int64_t multiple = problem.task.asked.rules.token_multiple;
  const std::int64_t tokens = caps.token_cap / multiple * multiple;
  Held held;
  for (std::size_t i = 0; i < problem.usable.tokens.size(); ++i) {
    if (problem.usable.vision[i] > caps.vision_cap || problem.usable.tokens[i] > tokens) continue;
    const auto length = static_cast<double>(problem.usable.tokens[i]);
    ++held.samples;
    held.mean.vision_units += problem.usable.vision[i];
    held.mean.tokens += length;
    held.mean.token_pairs += length * length;
  }
  const auto count = static_cast<double>(std::max<std::int64_t>(1, held.samples));
  held.mean = {held.mean.vision_units / count, held.mean.tokens / count,
               held.mean.token_pairs / count};
  return held;
}

/// Shares of the time in which sizes.gpus() devices train one sample.
Result<TimeShares> shares_of(const SizeTask& task, const TrainingTarget& target,
                             const cost::Load& mean, const CapPrediction& prediction) {
  PlanRequest free = task.request;
  free.free_links = true;
  OMNIBAL_ASSIGN(const cost::Profile without_links,
                 profile_for(task.model, task.cluster, free, target.sizes));
  OMNIBAL_ASSIGN(DeviceSeconds seconds, device_seconds({task.model, task.cluster, target.sizes.tp,
                                                        target.profile, without_links},
                                                       mean));
  if (task.request.profile) seconds.once = seconds.split = seconds.busy;
  seconds.all = prediction.seconds_per_sample * static_cast<double>(target.sizes.gpus());
  seconds.recompute = seconds.busy * prediction.recompute_share / (1 - prediction.recompute_share);
  return time_shares(seconds);
}

Result<SizeCandidate> candidate_of(const SizeTask& task, const TrainingTarget& target,
                                   const LimitProblem& problem, const CapPrediction& prediction) {
  SizeCandidate candidate{.sizes = target.sizes,
                          .schedule = {target.schedule, target.chunks},
                          .prediction = prediction,
                          .shares = {}};
  const Held held = held_by(problem, prediction);
  candidate.rejected = problem.usable.size() - held.samples;
  candidate.gpu_days = prediction.seconds_per_sample *
                       static_cast<double>(held.samples * target.sizes.gpus()) / 86400;
  OMNIBAL_ASSIGN(candidate.shares, shares_of(task, target, held.mean, prediction));
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
  if (!best.fits()) {
    OMNIBAL_ASSIGN(best, predict_or_say_why(problem, grid.vision.lowest, grid.tokens.lowest));
  }
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
