// SPDX-License-Identifier: Apache-2.0
#include "joint/solve_on_ranks.h"

#include <fmt/format.h>

#include <algorithm>

#include "joint/certificate.h"
#include "joint/models.h"
#include "joint/plan_pool.h"
#include "joint/rank_bounds.h"
#include "joint/rank_starts.h"
#include "joint/shortage.h"
#include "omnibal/base/quantity.h"

namespace omnibal::joint {
namespace {

/// How many cuts local moves may time; from how many plans they start.
constexpr std::int64_t kMostTimedOnRanks = 12'000;
constexpr std::size_t kPolishedOnRanks = 3;

/// Judges all cuts, those of shortest path first.
void judge_all(const std::vector<StageEnds>& all, PlanPool& pool) {
  std::vector<std::pair<Ticks, const StageEnds*>> order;
  for (const StageEnds& ends : all) order.emplace_back(pool.times_of(ends).path, &ends);
  std::ranges::stable_sort(order, {}, [](const auto& entry) { return entry.first; });
  for (const auto& [path, ends] : order) {
    if (path < kNever) pool.judge_if_promising(*ends);
  }
}

/// Judges what local moves make of the starts that fit.
void judge_starts(const RankSearch& search, const std::vector<StageEnds>& starts, PlanPool& pool) {
  std::vector<std::pair<PlanTimes, StageEnds>> timed;
  for (const StageEnds& ends : starts) {
    const PlanTimes times = pool.times_of(ends);
    if (times.path < kNever) timed.emplace_back(times, ends);
  }
  std::ranges::sort(timed);
  const auto repeated = std::ranges::unique(timed);
  timed.erase(repeated.begin(), repeated.end());
  if (timed.empty()) return;
  pool.judge(timed.front().second);
  std::int64_t effort = kMostTimedOnRanks / search.plan.effort();
  for (std::size_t k = 0; k < std::min(timed.size(), kPolishedOnRanks); ++k) {
    pool.judge(polish_path(pool, timed[k].second, 0, effort));
  }
  for (const auto& [times, ends] : timed) pool.judge_if_promising(ends);
  if (search.setting.options.alike) return;
  std::vector<JudgedPlan> best = pool.ranked();
  if (best.size() > kPolishedOnRanks) best.resize(kPolishedOnRanks);
  for (const JudgedPlan& plan : best) polish(pool, search.setting, plan);
}

Error nothing_fits(const RankSearch& search, const StageEnds& ends, Chosen chosen) {
  const JointProblem& problem = search.setting.problem;
  const RankPlan::Fullest fullest = search.plan.fullest_rank(ends);
  const std::int64_t limit = search.tables.limit_bytes();
  const std::int64_t missing = fullest.bytes - limit;
  const std::string_view even = chosen == Chosen::kCutsFound ? "" : "even ";
  return Error(ErrorCode::kMemoryInfeasible,
               fmt::format("rank {} does not fit: {}{} it misses {} ({})", fullest.rank, even,
                           what_is_chosen(problem, chosen), counted(missing, "byte"),
                           format_bytes(missing)))
      .at_key(fmt::format("ranks[{}].peak_bytes", fullest.rank))
      .with_value(fullest.bytes)
      .with_limit(limit)
      .with_hint(fmt::format(
          "raise --memory to {} ({} more{}){}, use more ranks, or lower the load "
          "of a micro-batch",
          counted(fullest.bytes, "byte"), format_bytes(missing),
          chosen == Chosen::kCutsFound ? "; less may do" : "", more_recomputation(problem)));
}

JointAnswer answer_from(const RankSearch& search, const PlanPool& pool, PlanBounds bounds) {
  const TickScale& scale = search.setting.scale;
  const std::vector<JudgedPlan> ranked = pool.ranked();
  for (const JudgedPlan& plan : ranked) {
    bounds.bottleneck.upper = std::min(bounds.bottleneck.upper, plan.bottleneck);
  }
  const JudgedPlan& best = ranked.front();
  JointAnswer answer{to_plan(best, scale),
                     {},
                     certificate_of(search.setting, search.plan, bounds.bottleneck, best)};
  answer.certificate.makespan_bound_s = scale.seconds(bounds.path);
  const auto most = static_cast<std::size_t>(std::max(search.setting.options.candidates, 1));
  for (std::size_t k = 1; k < std::min(ranked.size(), most); ++k) {
    answer.alternatives.push_back(to_plan(ranked[k], scale));
  }
  return answer;
}

/// The best plan of layers that lack their last choice: more choices must not cost time, though the
/// least recomputation need not be the best for the step, and local moves with fewer choices may
/// end at better cuts. Nothing where layers have one or none, or where it does not fit.
std::optional<JointPlan> with_fewer_choices(const SearchSetting& setting) {
  const std::span<const JointLayer> all = setting.problem.layers;
  std::vector<JointLayer> layers(all.begin(), all.end());
  std::size_t most = 0;
  for (const JointLayer& layer : layers) most = std::max(most, layer.choices.size());
  if (most <= 1 || setting.problem.constraints.recompute_everything) return std::nullopt;
  for (JointLayer& layer : layers) {
    if (layer.choices.size() == most) layer.choices.pop_back();
  }
  JointProblem fewer = setting.problem;
  fewer.layers = layers;
  Result<JointAnswer> answer = solve_on_ranks(fewer, setting.options, setting.evaluate);
  if (!answer) return std::nullopt;
  return std::move(answer->best);
}

/// The seeds with the paper's recomputation, where they may be faster than the best so far: it is
/// not that of least time, but may lie where the step does not wait for it.
void offer_seeds(const RankSearch& search, PlanPool& pool) {
  const SearchSetting& setting = search.setting;
  if (!search.plan.is_limited() || setting.problem.constraints.recompute_everything) return;
  const auto is_slower = [&](Ticks path) {
    return setting.options.alike && pool.num_judged() > 0 &&
           setting.scale.seconds(path) > pool.least_makespan_s();
  };
  for (const partition::Cuts& seed : setting.options.seeds) {
    const StageEnds ends = to_ends(seed, setting.grid.num_layers);
    if (!is_on(setting.grid, ends) || is_slower(search.plan.free_times_of(ends).path)) continue;
    const std::optional<LayerChoices> choices = bar_choices(search, ends);
    if (!choices || is_slower(search.plan.path_with(ends, *choices))) continue;
    pool.offer(ends, *choices);
  }
}

/// All cuts one by one.
Result<JointAnswer> solve_by_all(const RankSearch& search, const std::vector<StageEnds>& all) {
  PlanPool pool(search.setting, search.plan);
  if (const auto fewer = with_fewer_choices(search.setting)) {
    pool.offer(to_ends(fewer->cuts, search.setting.grid.num_layers), fewer->choices);
  }
  judge_all(all, pool);
  offer_seeds(search, pool);
  if (pool.num_judged() == 0) {
    const auto bytes = [&](const StageEnds& ends) { return search.plan.fullest_rank(ends).bytes; };
    return nothing_fits(search, *std::ranges::min_element(all, {}, bytes), Chosen::kCuts);
  }
  return answer_from(search, pool, bounds_of(search, all));
}

/// The best cuts if nearly alike layers were alike.
std::vector<StageEnds> typical_cuts(const RankSearch& search) {
  const SearchSetting& setting = search.setting;
  const std::vector<JointLayer> alike = typical_layers(setting.problem.layers, setting.scale);
  JointProblem problem = setting.problem;
  problem.layers = alike;
  const Result<JointAnswer> answer = solve_on_ranks(problem, setting.options, setting.evaluate);
  std::vector<StageEnds> cuts;
  if (!answer) return cuts;
  cuts.push_back(to_ends(answer->best.cuts, setting.grid.num_layers));
  for (const JointPlan& plan : answer->alternatives) {
    cuts.push_back(to_ends(plan.cuts, setting.grid.num_layers));
  }
  return cuts;
}

/// Where layers differ, moves are many times as dear: the best plans of kinds of nearly alike
/// layers are where they start.
void start_by_kinds(const RankSearch& search, std::vector<StageEnds>& starts, PlanPool& pool) {
  const SearchSetting& setting = search.setting;
  RankPlan plan(setting.problem, search.layout, search.tables, setting.scale, RankCare::kByKinds);
  JointOptions options = setting.options;
  options.alike = true;
  const SearchSetting by_kinds{setting.problem, options, setting.evaluate, setting.grid,
                               setting.scale};
  PlanPool kinds_pool(by_kinds, plan);
  judge_starts({by_kinds, search.layout, search.tables, plan}, starts, kinds_pool);
  std::vector<JudgedPlan> best = kinds_pool.ranked();
  if (best.size() > kPolishedOnRanks) best.resize(kPolishedOnRanks);
  for (JudgedPlan& found : best) {
    pool.offer(found.ends, found.choices);
    starts.push_back(std::move(found.ends));
  }
}

/// What can be made of the starts.
void judge_moves(const RankSearch& search, std::vector<StageEnds> starts, PlanPool& pool) {
  if (search.plan.has_near_kinds()) {
    for (StageEnds& ends : typical_cuts(search)) starts.push_back(std::move(ends));
    if (search.plan.is_limited()) start_by_kinds(search, starts, pool);
  }
  judge_starts(search, starts, pool);
}

/// By local moves.
Result<JointAnswer> solve_by_moves(const RankSearch& search) {
  const CutGrid& grid = search.setting.grid;
  const LeastBottleneck fastest = fastest_stages(search);
  std::vector<StageEnds> starts{fastest.ends};
  if (StageEnds even = evened_ranks(search); is_on(grid, even)) starts.push_back(std::move(even));
  for (const partition::Cuts& seed : search.setting.options.seeds) {
    StageEnds ends = to_ends(seed, grid.num_layers);
    if (is_on(grid, ends)) starts.push_back(std::move(ends));
  }
  if (search.plan.is_limited()) starts.push_back(least_full_stages(search));
  PlanPool pool(search.setting, search.plan);
  if (const auto fewer = with_fewer_choices(search.setting)) {
    starts.push_back(to_ends(fewer->cuts, grid.num_layers));
    pool.offer(starts.back(), fewer->choices);
  }
  judge_moves(search, starts, pool);
  if (pool.num_judged() == 0) {
    std::vector<StageEnds> fitted{moved_to_fit(search, starts)};
    const bool is_least = search.setting.problem.chunks == 1;
    if (is_least) fitted.push_back(least_full_ranks(search));
    judge_moves(search, fitted, pool);
    if (pool.num_judged() == 0) {
      return nothing_fits(search, fitted.back(), is_least ? Chosen::kCuts : Chosen::kCutsFound);
    }
  }
  offer_seeds(search, pool);
  PlanBounds bounds{{simple_bottleneck(search), kNever}, simple_path(search)};
  // A stage a rank: its program without a limit is a bound, and with one where it fits.
  if (search.setting.problem.chunks == 1) bounds.bottleneck.lower = fastest.bottleneck.lower;
  return answer_from(search, pool, bounds);
}

/// Of the least bottleneck, without a plan that has it unless all cuts were looked at.
Bounds least_bottleneck_on_ranks(const RankSearch& search) {
  if (const auto all = all_cuts(search.setting.grid)) return bounds_of(search, *all).bottleneck;
  if (search.setting.problem.chunks == 1) {
    return {fastest_stages(search).bottleneck.lower, kNever};
  }
  return {simple_bottleneck(search), kNever};
}

}  // namespace

bool needs_rank_plans(const JointProblem& problem) {
  return problem.schedule != schedule::ScheduleKind::kOneFOneB &&
         problem.schedule != schedule::ScheduleKind::kGPipe;
}

Result<JointAnswer> solve_on_ranks(const JointProblem& problem, const JointOptions& options,
                                   const Evaluator& evaluate) {
  if (problem.constraints.restriction == Restriction::kMegatron) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("the restriction of megatron is known for 1f1b and gpipe, not for {}",
                             to_string(problem.schedule)))
        .at_key("restrict");
  }
  OMNIBAL_ASSIGN(const CutGrid grid, cut_grid(problem));
  OMNIBAL_ASSIGN(const RankLayout layout, rank_layout(problem));
  const TickScale scale = tick_scale(problem);
  const StageTables tables(problem, scale);
  RankPlan plan(problem, layout, tables, scale, RankCare::kByLayers);
  const SearchSetting setting{problem, options, evaluate, grid, scale};
  const RankSearch search{setting, layout, tables, plan};
  if (const auto all = all_cuts(grid)) return solve_by_all(search, *all);
  return solve_by_moves(search);
}

Result<LayerChoices> choose_on_ranks(const JointProblem& problem, const partition::Cuts& cuts) {
  OMNIBAL_ASSIGN(const CutGrid grid, cut_grid(problem));
  OMNIBAL_ASSIGN(const RankLayout layout, rank_layout(problem));
  const TickScale scale = tick_scale(problem);
  const StageTables tables(problem, scale);
  RankPlan plan(problem, layout, tables, scale, RankCare::kByLayers);
  const StageEnds ends = to_ends(cuts, static_cast<std::int32_t>(problem.layers.size()));
  if (plan.times_of(ends).path >= kNever) {
    const SearchSetting setting{problem, {}, {}, grid, scale};
    return nothing_fits({setting, layout, tables, plan}, ends, Chosen::kGivenCuts);
  }
  LayerChoices choices(problem.layers.size(), 0);
  plan.choose(ends, choices);
  return choices;
}

Result<Certificate> certify_on_ranks(const JointProblem& problem, const partition::Cuts& cuts,
                                     const LayerChoices& choices, const Evaluator& evaluate) {
  OMNIBAL_ASSIGN(const CutGrid grid, cut_grid(problem));
  OMNIBAL_ASSIGN(const RankLayout layout, rank_layout(problem));
  const TickScale scale = tick_scale(problem);
  const StageTables tables(problem, scale);
  RankPlan model(problem, layout, tables, scale, RankCare::kByLayers);
  const JointOptions options{.alike = false};
  const SearchSetting setting{problem, options, evaluate, grid, scale};
  const Bounds least = least_bottleneck_on_ranks({setting, layout, tables, model});
  return certificate_of(setting, model, least, to_ends(cuts, grid.num_layers), choices);
}

}  // namespace omnibal::joint
