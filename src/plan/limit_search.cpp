// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/limit_search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "cap_grid.h"
#include "limit_prediction.h"
#include "omnibal/base/parallel.h"
#include "omnibal/cost/analytic.h"
#include "omnibal/model/model.h"

namespace omnibal::plan {
namespace {

using Pair = std::pair<std::int64_t, std::int64_t>;  // vision cap, token cap

/// A grid is predicted pair by pair if that packs no more samples in all than 256 pairs of 32768
/// do, a prediction counting as 4096 beside its own; a larger one is looked at coarsely first.
constexpr std::int64_t kUsuallyDrawn = 32768;
constexpr std::int64_t kOfPrediction = 4096;
constexpr std::int64_t kWholeGrid = 256 * (kUsuallyDrawn + kOfPrediction);
constexpr std::int64_t kFineWork = 320 * (kUsuallyDrawn + kOfPrediction);
/// About what a prediction of 32768 samples changes with the samples that are drawn.
constexpr double kDrawingError = 0.002;
constexpr std::int64_t kMostCoarse = 2000;
/// Points of the first look within 3 % of its best are predicted well: few samples err by less.
constexpr double kMargin = 1.03;
constexpr std::size_t kMostClose = 160;
constexpr std::size_t kRunnersUp = 3;

bool better(const CapPrediction& a, const CapPrediction& b) {
  return std::tie(a.seconds_per_sample, a.vision_cap, a.token_cap) <
         std::tie(b.seconds_per_sample, b.vision_cap, b.token_cap);
}

/// Predictions made so far from one set of samples.
class Predictions {
 public:
  Predictions(const LimitProblem& problem, const LimitProblem::Samples& samples)
      : problem_(problem), samples_(samples) {}

  /// Predicts those that are new, in parallel.
  void add(const std::vector<Pair>& pairs) {
    std::vector<Pair> fresh;
    for (const Pair& pair : pairs) {
      if (known_.try_emplace(pair).second) fresh.push_back(pair);
    }
    std::vector<CapPrediction> made(fresh.size());
    parallel_for_each(fresh.size(), problem_.task.threads, [&](std::size_t i) {
      made[i] = predict_with(problem_, samples_, fresh[i].first, fresh[i].second);
    });
    for (std::size_t i = 0; i < fresh.size(); ++i) known_[fresh[i]] = made[i];
  }
  CapPrediction at(const Pair& pair) {
    add({pair});
    return known_[pair];
  }
  /// All that fit, best first.
  std::vector<CapPrediction> ranked() const {
    std::vector<CapPrediction> all;
    for (const auto& [pair, prediction] : known_) {
      if (prediction.fits()) all.push_back(prediction);
    }
    std::ranges::sort(all, better);
    return all;
  }
  std::int64_t size() const { return static_cast<std::int64_t>(known_.size()); }

 private:
  const LimitProblem& problem_;
  const LimitProblem::Samples& samples_;
  std::map<Pair, CapPrediction> known_;
};

std::vector<Pair> product(const std::vector<std::int64_t>& visions,
                          const std::vector<std::int64_t>& tokens) {
  std::vector<Pair> pairs;
  for (const std::int64_t v : visions) {
    for (const std::int64_t t : tokens) pairs.emplace_back(v, t);
  }
  return pairs;
}

/// Both ranges in steps of about 1 / parts, as fine as few enough points allow.
std::vector<Pair> coarse_grid(const CapGrid& grid) {
  std::int64_t parts = 16;
  std::vector<Pair> pairs = product(grid.vision.coarse(parts), grid.tokens.coarse(parts));
  while (static_cast<std::int64_t>(pairs.size()) > kMostCoarse && parts > 1) {
    parts = std::max<std::int64_t>(1, parts * 3 / 4);
    pairs = product(grid.vision.coarse(parts), grid.tokens.coarse(parts));
  }
  return pairs;
}

/// Pairs that a first look with few samples leaves worth a closer one.
std::vector<Pair> promising(const LimitProblem& problem, const CapGrid& grid,
                            std::int64_t& predictions) {
  const std::int64_t of_pair = problem.drawn.size() + kOfPrediction;
  if (grid.vision.size() <= kWholeGrid / of_pair / grid.tokens.size()) {
    return product(grid.vision.all(), grid.tokens.all());
  }
  Predictions first_look(problem, problem.few);
  first_look.add(coarse_grid(grid));
  predictions = first_look.size();
  const std::vector<CapPrediction> ranked = first_look.ranked();
  std::vector<Pair> pairs{{grid.vision.lowest, grid.tokens.lowest}};
  for (const CapPrediction& p : ranked) {
    if (pairs.size() > kMostClose) break;
    if (p.seconds_per_sample > kMargin * ranked.front().seconds_per_sample) break;
    pairs.emplace_back(p.vision_cap, p.token_cap);
  }
  return pairs;
}

/// Best-first over the fine grid: looks around the best pair that was not looked around yet, until
/// that one is no longer as good as the best but for what drawing other samples would change, or
/// enough pairs were looked at.
void look_around_the_best(const CapGrid& grid, std::int64_t num_drawn, Predictions& predictions) {
  const double as_good =
      1 + kDrawingError * std::sqrt(kUsuallyDrawn / static_cast<double>(num_drawn));
  const std::int64_t most = predictions.size() + kFineWork / (num_drawn + kOfPrediction);
  std::set<Pair> done;
  while (predictions.size() < most) {
    const std::vector<CapPrediction> ranked = predictions.ranked();
    const auto next = std::ranges::find_if(ranked, [&](const CapPrediction& p) {
      return !done.contains({p.vision_cap, p.token_cap});
    });
    if (next == ranked.end()) return;
    if (next->seconds_per_sample > as_good * ranked.front().seconds_per_sample) return;
    done.emplace(next->vision_cap, next->token_cap);
    predictions.add(
        product(grid.vision.around(next->vision_cap), grid.tokens.around(next->token_cap)));
  }
}

CapReason reason_for(const std::optional<std::int64_t>& given, const CapRange& range,
                     std::int64_t cap) {
  CapReason reason;
  reason.given = given.has_value();
  reason.holds_largest_sample = !given && cap == range.lowest;
  return reason;
}

/// What a step of about a sixteenth in either direction would cost.
void compare_neighbours(const CapGrid& grid, Predictions& predictions, LimitChoice& choice) {
  const auto look = [&](const CapRange& range, std::int64_t cap, CapReason& why, const auto& at) {
    if (why.given) return;
    const std::int64_t above = range.above(cap, cap / 16);
    const std::int64_t below = range.below(cap, cap / 16);
    if (above > cap) why.larger = at(above);
    if (below < cap) why.smaller = at(below);
  };
  const CapPrediction& best = choice.best;
  look(grid.vision, best.vision_cap, choice.vision, [&](std::int64_t cap) {
    return predictions.at({cap, best.token_cap});
  });
  look(grid.tokens, best.token_cap, choice.tokens, [&](std::int64_t cap) {
    return predictions.at({best.vision_cap, cap});
  });
}

/// The best of each other vision cap, or of each other token cap if the vision cap is given.
std::vector<CapPrediction> runners_up(const std::vector<CapPrediction>& ranked, bool by_vision) {
  const auto cap = by_vision ? &CapPrediction::vision_cap : &CapPrediction::token_cap;
  std::vector<CapPrediction> others;
  for (const CapPrediction& p : ranked) {
    if (others.size() == kRunnersUp) break;
    const auto same = [&](const CapPrediction& o) { return o.*cap == p.*cap; };
    if (!same(ranked.front()) && std::ranges::none_of(others, same)) others.push_back(p);
  }
  return others;
}

/// The paper's caps, if nothing is given and they hold all that the lowest caps hold.
std::optional<Pair> paper_pair(const LimitTask& task, const CapGrid& grid) {
  if (task.asked.vision_cap || task.asked.token_cap) return std::nullopt;
  const Result<pack::PackLimits> limits = pack::paper_limits(
      task.samples,
      {.micro_batch = task.micro_batch, .rules = task.asked.rules, .seed = task.seed});
  if (!limits || limits->vision_cap < grid.vision.lowest || limits->token_cap < grid.tokens.lowest)
    return std::nullopt;
  return Pair{limits->vision_cap, limits->token_cap};
}

}  // namespace

Result<LimitChoice> choose_limits(const LimitTask& task, const Progress& progress) {
  report(progress, "choosing caps", 0, 3);
  OMNIBAL_ASSIGN(const LimitProblem problem, limit_problem(task));
  OMNIBAL_ASSIGN(const CapGrid grid, cap_grid(problem));
  const TrainingTarget& target = task.target;
  LimitChoice choice;
  choice.context = {target.model_name, target.cluster.name, target.sizes, target.global_batch,
                    target.memory_bytes};
  choice.too_large = grid.too_large;
  Predictions predictions(problem, problem.drawn);
  std::vector<Pair> pairs = promising(problem, grid, choice.predictions);
  const std::optional<Pair> paper = paper_pair(task, grid);
  if (paper) pairs.push_back(*paper);
  report(progress, "choosing caps", 1, 3);
  predictions.add(pairs);
  report(progress, "choosing caps", 2, 3);
  look_around_the_best(grid, problem.drawn.size(), predictions);
  std::vector<CapPrediction> ranked = predictions.ranked();
  if (ranked.empty()) {
    OMNIBAL_ASSIGN(const CapPrediction lowest,
                   predict_or_say_why(problem, grid.vision.lowest, grid.tokens.lowest));
    ranked.push_back(lowest);
  }
  choice.best = ranked.front();
  choice.limits = task.asked.rules.at(choice.best.vision_cap, choice.best.token_cap);
  choice.vision = reason_for(task.asked.vision_cap, grid.vision, choice.best.vision_cap);
  choice.tokens = reason_for(task.asked.token_cap, grid.tokens, choice.best.token_cap);
  choice.runners_up = runners_up(ranked, !task.asked.vision_cap);
  if (paper) choice.paper = predictions.at(*paper);
  compare_neighbours(grid, predictions, choice);
  choice.predictions += predictions.size();
  return choice;
}

Result<TrainingTarget> reference_target(const std::string& model, std::int64_t dp) {
  constexpr std::int64_t kSamplesOfRank = 128;
  TrainingTarget target;
  target.sizes = {.tp = 2, .pp = 4, .dp = dp};
  target.global_batch = kSamplesOfRank * dp;
  OMNIBAL_ASSIGN(const model::ModelSpec spec, model::load_model(model));
  OMNIBAL_ASSIGN(target.cluster, cluster::load_cluster("a100-80g"));
  OMNIBAL_ASSIGN(target.profile,
                 cost::analytic_profile(spec, target.cluster, {.tp = target.sizes.tp, .dp = dp}));
  target.model_name = spec.name;
  target.memory_bytes = target.cluster.usable_bytes();
  return target;
}

}  // namespace omnibal::plan
