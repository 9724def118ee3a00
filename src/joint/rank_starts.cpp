// SPDX-License-Identifier: Apache-2.0
#include "joint/rank_starts.h"

#include <algorithm>
#include <cstdlib>

#include "joint/models.h"
#include "joint/shortage.h"

namespace omnibal::joint {
namespace {

/// How many moves are tried to make a plan fit.
constexpr std::int64_t kMostFitted = 1'000;
/// From how many starts by what all ranks miss.
constexpr std::size_t kMostMovedToFit = 3;

}  // namespace

LeastBottleneck fastest_stages(const RankSearch& search) {
  JointProblem free = search.setting.problem;
  free.memory_limit_bytes.reset();
  free.constraints.recompute_everything = false;
  const StageTables tables(free, search.setting.scale);
  const auto models = stage_models(free, tables, search.setting.scale);
  return *least_bottleneck(search.setting.grid, *models.front());
}

StageEnds least_full_stages(const RankSearch& search) {
  JointProblem freely = search.setting.problem;
  freely.constraints.recompute_everything = false;
  const auto models = stage_models(freely, search.tables, search.setting.scale);
  return least_full_cuts(search.setting.grid, [&](const StageSpan& span) {
    return models.front()->least_peak_bytes(span);
  });
}

StageEnds least_full_ranks(const RankSearch& search) {
  return least_full_cuts(search.setting.grid,
                         [&](const StageSpan& span) { return search.plan.least_peak_bytes(span); });
}

/// Cuts near even shares of the work, what a rank got too much of in its first stages taken off its
/// later ones.
StageEnds evened_ranks(const RankSearch& search) {
  const CutGrid& grid = search.setting.grid;
  const StageTables& tables = search.tables;
  const Ticks share = tables.work_from(0) / grid.num_stages;
  std::vector<Ticks> surplus(search.layout.ranks.size(), 0);  // that a rank has so far
  StageEnds ends;
  Ticks corrected = 0;  // of the stages before, in this round over the ranks
  for (std::int32_t s = 0; s < grid.num_stages; ++s) {
    const std::int32_t begin = ends.empty() ? 0 : ends.back();
    Ticks& of_rank = surplus[search.layout.rank_of(static_cast<std::size_t>(s))];
    corrected -= of_rank;
    const Ticks wanted = share * (s + 1) + corrected;
    std::int32_t end = std::min(begin + 1, grid.latest_end(s));
    const auto distance = [&](std::int32_t at) {
      return std::abs(tables.work_before(at) - wanted);
    };
    while (end < grid.latest_end(s) && distance(end + 1) < distance(end)) ++end;
    if (s + 1 == grid.num_stages) end = grid.num_layers;
    of_rank += tables.work_before(end) - tables.work_before(begin) - share;
    ends.push_back(end);
  }
  return ends;
}

StageEnds moved_to_fit(const RankSearch& search, const std::vector<StageEnds>& starts) {
  const CutGrid& grid = search.setting.grid;
  const std::int64_t limit = search.tables.limit_bytes();
  const auto bytes = [&](const StageEnds& ends) { return search.plan.fullest_rank(ends).bytes; };
  const auto missing = [&](const StageEnds& ends) { return search.plan.missing_bytes(ends); };
  std::int64_t effort = kMostFitted;
  const StageEnds least =
      polish_by(grid, *std::ranges::min_element(starts, {}, bytes), bytes, limit, effort);
  if (bytes(least) <= limit) return least;
  std::vector<StageEnds> others{least};
  others.insert(others.end(), starts.begin(), starts.end());
  std::ranges::stable_sort(others, {}, missing);
  if (others.size() > kMostMovedToFit) others.resize(kMostMovedToFit);
  for (StageEnds& start : others) {
    effort = kMostFitted;
    StageEnds moved = polish_by(grid, std::move(start), missing, 0, effort);
    if (missing(moved) == 0) return moved;
  }
  return least;
}

std::optional<LayerChoices> bar_choices(const RankSearch& search, const StageEnds& ends) {
  const JointProblem& problem = search.setting.problem;
  std::vector<recompute::BarLayer> layers;
  for (const JointLayer& layer : problem.layers) {
    const bool can =
        !layer.choices.empty() && layer.choices.front().kept_bytes < layer.activation_bytes;
    layers.push_back({layer.layer_class, can ? layer.choices.front().recompute_s : 0, can,
                      layer.activation_bytes, layer.weight_grad_bytes > 0});
  }
  const std::vector<std::int32_t> cuts = partition::first_layers(to_cuts(ends));
  const auto peak = [&](StageIndex stage, const recompute::RecomputeMask& mask) {
    const std::size_t rank = search.layout.rank_of(static_cast<std::size_t>(stage.value()));
    return peak_of_rank(search.layout, rank, search.tables, problem.layers,
                        spans_of_rank(search.layout, rank, ends), to_choices(mask));
  };
  recompute::BarProblem bar{layers, cuts, search.tables.limit_bytes(), {}};
  if (problem.chunks > 1) bar.stage_rank = search.layout.schedule.stage_rank;
  const Result<recompute::RecomputeMask> mask = recompute::bar(bar, peak);
  if (!mask) return std::nullopt;
  return to_choices(*mask);
}

}  // namespace omnibal::joint
