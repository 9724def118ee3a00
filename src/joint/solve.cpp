// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <limits>

#include "joint/certificate.h"
#include "joint/least_bottleneck.h"
#include "joint/least_paths.h"
#include "joint/models.h"
#include "joint/plan_pool.h"
#include "joint/shortage.h"
#include "joint/solve_on_ranks.h"

namespace omnibal::joint {
namespace {

/// How many plans of each of the two programs are judged.
constexpr std::int32_t kPlansOfAProgram = 8;
/// How many cuts local moves may time; from how many plans they start where they are simulated.
constexpr std::int64_t kMostTimed = 3'000;
constexpr std::size_t kPolishedPlans = 3;
/// The path program looks at plans up to 1 / 256 longer than the best known: runners-up.
constexpr Ticks kLongerPaths = 256;
/// Of restricted recomputations (one model a number), those of shortest path are searched.
constexpr std::size_t kSearchedModels = 3;

/// A stage model with what its two programs found.
struct ModelSearch {
  StageModel* model = nullptr;
  std::unique_ptr<StagePlan> plan;
  LeastBottleneck least;
  std::vector<StageEnds> plans;  // of both programs
  Ticks shortest_path = kNever;  // of any known plan
  Ticks path_bound = 0;
};

std::optional<ModelSearch> run_programs(const SearchSetting& setting, const StepPath& path,
                                        StageModel& model) {
  std::optional<LeastBottleneck> least = least_bottleneck(setting.grid, model);
  if (!least) return std::nullopt;
  ModelSearch search{
      &model,
      std::make_unique<StagePlan>(setting.problem.layers, setting.scale, path, model),
      *std::move(least),
      {},
      kNever,
      0};
  PlanPool pool(setting, *search.plan);
  search.shortest_path = pool.times_of(search.least.ends).path;
  for (const partition::Cuts& seed : setting.options.seeds) {
    const StageEnds ends = to_ends(seed, setting.grid.num_layers);
    search.shortest_path = std::min(search.shortest_path, pool.times_of(ends).path);
  }
  const auto note = [&](const LeastPaths& found) {
    for (const StageEnds& ends : found.plans) {
      search.shortest_path = std::min(search.shortest_path, pool.times_of(ends).path);
    }
    search.plans.insert(search.plans.end(), found.plans.begin(), found.plans.end());
  };
  note(least_paths(
      setting.grid, model, path,
      {pool.times_of(search.least.ends).path, search.least.bottleneck.upper, kPlansOfAProgram}));
  const LeastPaths paths = least_paths(
      setting.grid, model, path,
      {search.shortest_path + search.shortest_path / kLongerPaths, kNever - 1, kPlansOfAProgram});
  note(paths);
  search.path_bound = paths.bound;
  if (search.path_bound >= search.shortest_path) return search;
  const LeastPaths by_first =
      least_paths_by_first_stage(setting.grid, model, path, {search.shortest_path, kNever - 1, 2});
  note(by_first);
  search.path_bound = std::min(std::max(search.path_bound, by_first.bound), search.shortest_path);
  return search;
}

/// Whether stages choose their recomputation one by one.
bool may_swap(const SearchSetting& setting) {
  const Constraints& constraints = setting.problem.constraints;
  return !constraints.recompute_everything && constraints.restriction != Restriction::kMegatron;
}

/// Judges what the programs found, the seeds, and what local moves make of the best.
void fill_pool(const SearchSetting& setting, const ModelSearch& search, PlanPool& pool) {
  pool.judge(search.least.ends);
  for (const StageEnds& ends : search.plans) pool.judge(ends);
  for (const partition::Cuts& seed : setting.options.seeds) {
    pool.judge_if_promising(to_ends(seed, setting.grid.num_layers));
  }
  std::vector<JudgedPlan> best = pool.ranked();
  if (setting.options.alike) {
    std::int64_t effort = kMostTimed / search.model->effort();
    for (const JudgedPlan& plan : best) {
      pool.judge(polish_path(pool, plan.ends, search.path_bound, effort));
      if (pool.least_path() <= search.path_bound) break;
    }
  } else {
    if (best.size() > kPolishedPlans) best.resize(kPolishedPlans);
    for (const JudgedPlan& plan : best) polish(pool, setting, plan);
    if (may_swap(setting)) {
      swap_choices(pool, setting, search.model->tables(), pool.ranked().front());
    }
  }
}

struct RankedPlan {
  const ModelSearch* search = nullptr;
  JudgedPlan plan;
};

/// All plans of the searched models, best first.
std::vector<RankedPlan> judge_all(const SearchSetting& setting,
                                  std::span<const ModelSearch> searches) {
  std::vector<RankedPlan> ranked;
  for (const ModelSearch& search : searches) {
    PlanPool pool(setting, *search.plan);
    fill_pool(setting, search, pool);
    for (JudgedPlan& plan : pool.ranked()) ranked.push_back({&search, std::move(plan)});
  }
  if (searches.size() > 1) {
    std::ranges::stable_sort(ranked, {}, [](const RankedPlan& r) { return r.plan.makespan_s; });
  }
  return ranked;
}

Certificate certify(const SearchSetting& setting, std::span<const ModelSearch> searches,
                    const RankedPlan& best) {
  Bounds least{kNever, kNever};
  Ticks path = kNever;
  for (const ModelSearch& search : searches) {
    least.lower = std::min(least.lower, search.least.bottleneck.lower);
    least.upper = std::min(least.upper, search.least.bottleneck.upper);
    path = std::min(path, search.path_bound);
  }
  Certificate certificate = certificate_of(setting, *best.search->plan, least, best.plan);
  certificate.makespan_bound_s = setting.scale.seconds(path);
  return certificate;
}

/// Every restricted recomputation has its programs run; the most promising are searched.
JointAnswer answer_from(const SearchSetting& setting, std::vector<ModelSearch> searches) {
  std::ranges::stable_sort(searches, {}, &ModelSearch::shortest_path);
  const std::span<const ModelSearch> all = searches;
  const std::vector<RankedPlan> ranked =
      judge_all(setting, all.first(std::min(all.size(), kSearchedModels)));
  JointAnswer answer{
      to_plan(ranked.front().plan, setting.scale), {}, certify(setting, all, ranked.front())};
  const auto most = static_cast<std::size_t>(std::max(setting.options.candidates, 1));
  for (std::size_t k = 1; k < std::min(ranked.size(), most); ++k) {
    answer.alternatives.push_back(to_plan(ranked[k].plan, setting.scale));
  }
  return answer;
}

Error nothing_fits(const JointProblem& problem, const CutGrid& grid,
                   std::span<const std::unique_ptr<StageModel>> models) {
  LeastLimit least = least_limit(grid, *models.front());
  for (const auto& model : models.subspan(1)) {
    const LeastLimit other = least_limit(grid, *model);
    if (other.bytes < least.bytes) least = other;
  }
  return does_not_fit(problem, least, Chosen::kCuts);
}

}  // namespace

Result<JointAnswer> solve(const JointProblem& problem, const JointOptions& options,
                          const Evaluator& evaluate) {
  OMNIBAL_RETURN_IF_ERROR(partition::check_stages(static_cast<std::int64_t>(problem.layers.size()),
                                                  problem.num_stages));
  if (needs_rank_plans(problem)) return solve_on_ranks(problem, options, evaluate);
  assert(problem.in_flight.size() == static_cast<std::size_t>(problem.num_stages));
  OMNIBAL_ASSIGN(const CutGrid grid, cut_grid(problem));
  const TickScale scale = tick_scale(problem);
  const StageTables tables(problem, scale);
  const StepPath path(problem);
  const SearchSetting setting{problem, options, evaluate, grid, scale};
  const std::vector<std::unique_ptr<StageModel>> models = stage_models(problem, tables, scale);
  std::vector<ModelSearch> searches;
  for (const auto& model : models) {
    if (auto search = run_programs(setting, path, *model)) searches.push_back(*std::move(search));
  }
  if (searches.empty()) return nothing_fits(problem, grid, models);
  return answer_from(setting, std::move(searches));
}

Result<Certificate> certify(const JointProblem& problem, const partition::Cuts& cuts,
                            const LayerChoices& choices, const Evaluator& evaluate) {
  const auto num_layers = static_cast<std::int32_t>(problem.layers.size());
  OMNIBAL_RETURN_IF_ERROR(partition::check_stages(num_layers, problem.num_stages));
  OMNIBAL_RETURN_IF_ERROR(partition::check_cuts(cuts, num_layers));
  OMNIBAL_ASSIGN(const CutGrid grid, cut_grid(problem));
  if (!is_on(grid, to_ends(cuts, num_layers))) {
    return Error(ErrorCode::kOutOfRange, "these cuts are not among those of the problem")
        .with_value(static_cast<std::int64_t>(cuts.size()));
  }
  if (needs_rank_plans(problem)) return certify_on_ranks(problem, cuts, choices, evaluate);
  assert(problem.constraints.restriction != Restriction::kMegatron);
  const TickScale scale = tick_scale(problem);
  const StageTables tables(problem, scale);
  const StepPath path(problem);
  const JointOptions options{.alike = false};
  const SearchSetting setting{problem, options, evaluate, grid, scale};
  const std::vector<std::unique_ptr<StageModel>> models = stage_models(problem, tables, scale);
  const std::optional<LeastBottleneck> least = least_bottleneck(grid, *models.front());
  if (!least) return nothing_fits(problem, grid, models);
  StagePlan plan(problem.layers, scale, path, *models.front());
  return certificate_of(setting, plan, least->bottleneck, to_ends(cuts, num_layers), choices);
}

Result<LayerChoices> choose_recomputation(const JointProblem& problem,
                                          const partition::Cuts& cuts) {
  const auto num_layers = static_cast<std::int32_t>(problem.layers.size());
  OMNIBAL_RETURN_IF_ERROR(partition::check_cuts(cuts, num_layers));
  if (needs_rank_plans(problem)) return choose_on_ranks(problem, cuts);
  const TickScale scale = tick_scale(problem);
  const StageTables tables(problem, scale);
  const std::vector<std::unique_ptr<StageModel>> models = stage_models(problem, tables, scale);
  const std::vector<StageSpan> spans = stage_spans(to_ends(cuts, num_layers));
  LeastLimit least{std::numeric_limits<std::int64_t>::max(), 0};
  for (const auto& model : models) {
    const LeastLimit needed =
        largest_peak(spans, [&](const StageSpan& span) { return model->least_peak_bytes(span); });
    if (needed.bytes <= tables.limit_bytes()) {
      LayerChoices choices(problem.layers.size(), 0);
      for (const StageSpan& span : spans) model->choose(span, choices);
      return choices;
    }
    if (needed.bytes < least.bytes) least = needed;
  }
  return does_not_fit(problem, least, Chosen::kGivenCuts);
}

Result<std::int64_t> least_memory_limit(const JointProblem& problem) {
  if (needs_rank_plans(problem)) {
    return Error(ErrorCode::kInvalidArgument,
                 "the least limit is known of a stage a rank with whole backwards alone");
  }
  OMNIBAL_RETURN_IF_ERROR(partition::check_stages(static_cast<std::int64_t>(problem.layers.size()),
                                                  problem.num_stages));
  OMNIBAL_ASSIGN(const CutGrid grid, cut_grid(problem));
  const TickScale scale = tick_scale(problem);
  const StageTables tables(problem, scale);
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const auto& model : stage_models(problem, tables, scale)) {
    least = std::min(least, least_limit(grid, *model).bytes);
  }
  return least;
}

}  // namespace omnibal::joint
