// SPDX-License-Identifier: Apache-2.0
#include "joint/stage_knapsack.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <tuple>

namespace omnibal::joint {
namespace {

/// A choice as an option, and what it rebuilds at once.
struct Candidate {
  CoverOption option;
  std::int64_t transient = 0;
};

/// All that save anything, most saving first.
std::vector<Candidate> candidates_of(const JointLayer& layer, const TickScale& scale) {
  std::vector<Candidate> candidates;
  for (std::size_t c = 0; c < layer.choices.size(); ++c) {
    const RecomputeChoice& choice = layer.choices[c];
    const std::int64_t saving = layer.activation_bytes - choice.kept_bytes;
    if (saving <= 0) continue;
    candidates.push_back(
        {{saving, scale.ticks(choice.recompute_s), static_cast<std::int32_t>(c) + 1},
         transient_bytes(layer, choice)});
  }
  std::ranges::stable_sort(candidates, [](const Candidate& a, const Candidate& b) {
    return std::tie(b.option.saving, a.option.cost) < std::tie(a.option.saving, b.option.cost);
  });
  return candidates;
}

/// Options within `transient` that no other beats in both cost and saving, most saving first.
std::vector<CoverOption> useful_options(const std::vector<Candidate>& candidates,
                                        std::int64_t transient) {
  std::vector<CoverOption> useful;
  for (const Candidate& candidate : candidates) {  // later ones must be cheaper
    if (candidate.transient > transient) continue;
    const CoverOption& option = candidate.option;
    if (useful.empty() || option.cost < useful.back().cost) useful.push_back(option);
  }
  return useful;
}

bool cheaper(const CoverIncrement& a, const CoverIncrement& b) {
  return is_cheaper(a.cost, a.saving, b.cost, b.saving);
}

/// Increments of `options` whose cost a byte rises.
std::vector<CoverIncrement> hull_of(const std::vector<CoverOption>& options) {
  std::vector<CoverIncrement> hull;
  CoverOption last;
  for (const CoverOption& option : std::views::reverse(options)) {
    CoverIncrement step{0, option.saving - last.saving, option.cost - last.cost};
    while (!hull.empty() && !cheaper(hull.back(), step)) {
      step = {0, step.saving + hull.back().saving, step.cost + hull.back().cost};
      hull.pop_back();
    }
    hull.push_back(step);
    last = option;
  }
  return hull;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

}  // namespace

StageKnapsack::StageKnapsack(const StageTables& tables, std::span<const JointLayer> layers,
                             const TickScale& scale)
    : StageModel(tables), num_layers_(static_cast<std::int32_t>(layers.size())) {
  gather_kinds(layers, scale);
  order_kinds();
  before_.assign((layers.size() + 1) * kinds_.size(), 0);
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    for (const std::int32_t layer : kinds_[k].layers) {
      before_[(static_cast<std::size_t>(layer) + 1) * kinds_.size() + k] = 1;
    }
  }
  for (std::size_t i = kinds_.size(); i < before_.size(); ++i) {
    before_[i] += before_[i - kinds_.size()];
  }
}

std::int32_t StageKnapsack::LayerKind::level_within(std::int64_t transient) const {
  auto level = static_cast<std::int32_t>(levels.size()) - 1;
  while (level >= 0 && levels[static_cast<std::size_t>(level)].transient > transient) --level;
  return level;
}

std::vector<StageKnapsack::Level> StageKnapsack::levels_of(const JointLayer& layer,
                                                           const TickScale& scale) {
  const std::vector<Candidate> candidates = candidates_of(layer, scale);
  std::vector<std::int64_t> transients;
  for (const Candidate& candidate : candidates) transients.push_back(candidate.transient);
  std::ranges::sort(transients);
  transients.erase(std::ranges::unique(transients).begin(), transients.end());
  std::vector<Level> levels;
  for (const std::int64_t transient : transients) {
    std::vector<CoverOption> options = useful_options(candidates, transient);
    if (!levels.empty() && levels.back().options == options) continue;
    std::vector<CoverIncrement> hull = hull_of(options);
    levels.push_back({transient, std::move(options), std::move(hull)});
  }
  return levels;
}

void StageKnapsack::gather_kinds(std::span<const JointLayer> layers, const TickScale& scale) {
  using Key = std::vector<std::tuple<std::int64_t, std::int64_t, Ticks, std::int32_t>>;
  std::map<Key, std::size_t> index;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    std::vector<Level> levels = levels_of(layers[i], scale);
    if (levels.empty()) continue;
    Key key;
    for (const Level& level : levels) {
      for (const CoverOption& o : level.options) {
        key.emplace_back(level.transient, o.saving, o.cost, o.choice);
      }
    }
    const auto [place, is_new] = index.emplace(std::move(key), kinds_.size());
    if (is_new) kinds_.push_back({std::move(levels), {}});
    kinds_[place->second].layers.push_back(static_cast<std::int32_t>(i));
  }
}

void StageKnapsack::order_kinds() {
  std::ranges::stable_sort(kinds_, [](const LayerKind& a, const LayerKind& b) {
    return cheaper(a.levels.back().hull.front(), b.levels.back().hull.front());
  });
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    for (std::size_t l = 0; l < kinds_[k].levels.size(); ++l) {
      for (const CoverIncrement& step : kinds_[k].levels[l].hull) {
        increments_.push_back({{k, l}, step.saving, step.cost});
      }
      by_transient_.push_back({k, l});
    }
  }
  std::ranges::stable_sort(increments_, [](const LevelIncrement& a, const LevelIncrement& b) {
    return is_cheaper(a.cost, a.saving, b.cost, b.saving);
  });
  std::ranges::stable_sort(by_transient_, {}, [&](const LevelIndex& index) {
    return kinds_[index.kind].levels[index.level].transient;
  });
  item_of_kind_.resize(kinds_.size());
}

std::int32_t StageKnapsack::count(std::size_t kind, const StageSpan& span) const {
  return before_[static_cast<std::size_t>(span.end) * kinds_.size() + kind] -
         before_[static_cast<std::size_t>(span.begin) * kinds_.size() + kind];
}

std::int64_t StageKnapsack::effort() const {
  const auto num_kinds = static_cast<std::int64_t>(kinds_.size());
  return need({0, 0, num_layers_}, 0) <= 0 ? 1 : 3 + num_kinds / 10;
}

std::int64_t StageKnapsack::need(const StageSpan& span, std::int64_t transient) const {
  const StageTables& t = tables();
  return ceil_div(t.static_bytes(span) + transient - t.limit_bytes(), t.in_flight(span)) +
         t.activation_bytes(span);
}

std::int64_t StageKnapsack::least_peak_bytes(const StageSpan& span) const {
  std::int64_t kept = tables().activation_bytes(span);
  const std::int64_t fixed = tables().static_bytes(span);
  std::int64_t least = fixed + tables().in_flight(span) * kept;
  for (const LevelIndex& index : by_transient_) {
    const std::int32_t layers = count(index.kind, span);
    if (layers == 0) continue;
    const std::vector<Level>& levels = kinds_[index.kind].levels;
    const std::int64_t before = index.level == 0 ? 0 : levels[index.level - 1].most_saving();
    kept -= layers * (levels[index.level].most_saving() - before);
    least =
        std::min(least, fixed + tables().in_flight(span) * kept + levels[index.level].transient);
  }
  return least;
}

void StageKnapsack::gather(const StageSpan& span) {
  present_.clear();
  transients_.clear();
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    const std::int32_t layers = count(k, span);
    if (layers == 0) continue;
    present_.push_back({k, layers});
    for (const Level& level : kinds_[k].levels) transients_.push_back(level.transient);
  }
  std::ranges::sort(transients_);
  transients_.erase(std::ranges::unique(transients_).begin(), transients_.end());
}

/// In order of their first increment's cost a byte: that of the kinds, unless a kind lacks some of
/// its choices.
void StageKnapsack::add_items() {
  const auto lacks_choices = [&](const Present& item) {
    return static_cast<std::size_t>(item.level) + 1 < kinds_[item.kind].levels.size();
  };
  if (std::ranges::any_of(items_, lacks_choices)) {
    std::ranges::stable_sort(items_, [&](const Present& a, const Present& b) {
      return cheaper(level_of(a).hull.front(), level_of(b).hull.front());
    });
  }
  for (const Present& item : items_) {
    item_of_kind_[item.kind] = knapsack_.num_items();
    knapsack_.add(
        CoverItem{static_cast<std::int32_t>(item.kind), item.count, level_of(item).options});
  }
}

void StageKnapsack::fill(std::int64_t transient) {
  knapsack_.clear();
  items_.clear();
  std::ranges::fill(item_of_kind_, -1);
  bool one_increment_each = true;
  for (Present present : present_) {
    present.level = kinds_[present.kind].level_within(transient);
    if (present.level < 0) continue;
    one_increment_each = one_increment_each && level_of(present).options.size() == 1;
    items_.push_back(present);
  }
  add_items();
  if (one_increment_each) {
    knapsack_.add_increments_of_single_options();
  } else {
    for (const LevelIncrement& step : increments_) {
      const std::int32_t item = item_of_kind_[step.of.kind];
      const bool taken = item >= 0 && items_[static_cast<std::size_t>(item)].level ==
                                          static_cast<std::int32_t>(step.of.level);
      if (taken) knapsack_.add(CoverIncrement{item, step.saving, step.cost});
    }
  }
  knapsack_.sum_up();
}

Bounds StageKnapsack::search(const StageSpan& span, Ticks below, std::int64_t most_nodes) {
  Bounds bounds{kNever, kNever};
  taken_.clear();
  gather(span);
  for (const std::int64_t transient : std::views::reverse(transients_)) {
    if (most_nodes <= 0 && bounds.upper < kNever) {  // used up: what is left is bounded together
      bounds.lower = std::min(bounds.lower, rough_recompute(span).lower);
      break;
    }
    fill(transient);
    const CoveringKnapsack::Cover cover = knapsack_.least_cover(
        need(span, transient), std::min(below, bounds.upper), std::max(most_nodes, kFewNodes));
    most_nodes -= cover.nodes;
    nodes_left_ -= cover.nodes;
    bounds.lower = std::min(bounds.lower, cover.lower);
    if (cover.upper >= kNever) continue;
    bounds.upper = cover.upper;
    taken_ = knapsack_.taken();
  }
  return bounds;
}

StageKnapsack::Answer& StageKnapsack::known(const StageSpan& span) {
  const auto part = [](std::int32_t index) { return static_cast<std::uint64_t>(index); };
  const std::uint64_t key = (part(span.stage) << 42) | (part(span.begin) << 21) | part(span.end);
  const auto [place, is_new] = known_.try_emplace(key);
  Answer& answer = place->second;
  if (!is_new) return answer;
  answer.rough = {kNever, kNever};
  if (least_peak_bytes(span) > tables().limit_bytes()) return answer;
  gather(span);
  fill(transients_.back());
  answer.rough = {knapsack_.relaxed_cover(need(span, transients_.front())),
                  knapsack_.greedy_cover(need(span, transients_.back()))};
  return answer;
}

Bounds StageKnapsack::rough_recompute(const StageSpan& span) {
  if (need(span, 0) <= 0) return {0, 0};
  return known(span).rough;
}

Bounds StageKnapsack::recompute(const StageSpan& span, Ticks most) {
  if (need(span, 0) <= 0) return {0, 0};
  Answer& answer = known(span);
  if (answer.rough.lower > most) return {answer.rough.lower, kNever};
  const Ticks below = std::min(most, kNever - 1) + 1;
  const bool is_known = answer.searched_below >= below ||
                        (answer.searched_below >= 0 && answer.bounds.upper < kNever);
  if (is_known) return answer.bounds;
  answer.bounds = search(span, below, std::min(nodes_left_, kMostNodesOfASearch));
  answer.searched_below = below;
  was_cut_off_ = was_cut_off_ || answer.bounds.lower < std::min(answer.bounds.upper, below);
  return answer.bounds;
}

void StageKnapsack::choose(const StageSpan& span, LayerChoices& choices) {
  for (std::int32_t i = span.begin; i < span.end; ++i) choices[static_cast<std::size_t>(i)] = 0;
  if (need(span, 0) <= 0) return;
  // Finds again what recompute found: with a closer bound a search only visits fewer nodes.
  search(span, recompute(span, kNever - 1).upper + 1, kMostNodesOfASearch);
  for (const CoveringKnapsack::Taken& taken : taken_) {
    const LayerKind& kind = kinds_[static_cast<std::size_t>(taken.item_class)];
    std::int32_t left = taken.count;
    for (auto layer = std::ranges::lower_bound(kind.layers, span.begin); left > 0; ++layer) {
      if (choices[static_cast<std::size_t>(*layer)] != 0) continue;
      choices[static_cast<std::size_t>(*layer)] = taken.choice;
      --left;
    }
  }
}

}  // namespace omnibal::joint
