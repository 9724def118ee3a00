// SPDX-License-Identifier: Apache-2.0
#include "joint/stage_knapsack.h"

#include <algorithm>
#include <ranges>

namespace omnibal::joint {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

}  // namespace

StageKnapsack::StageKnapsack(const StageTables& tables, std::span<const JointLayer> layers,
                             const TickScale& scale)
    : StageModel(tables),
      num_layers_(static_cast<std::int32_t>(layers.size())),
      kinds_(layer_kinds(layers, scale)),
      item_of_kind_(kinds_.size()) {
  order_levels();
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

void StageKnapsack::order_levels() {
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    for (std::size_t l = 0; l < kinds_[k].levels.size(); ++l) {
      for (const CoverIncrement& step : kinds_[k].levels[l].hull) {
        increments_.push_back({{k, l}, step});
      }
      by_transient_.push_back({k, l});
    }
  }
  std::ranges::stable_sort(increments_, [](const LevelIncrement& a, const LevelIncrement& b) {
    return is_cheaper(a.step, b.step);
  });
  std::ranges::stable_sort(by_transient_, {}, [&](const LevelIndex& index) {
    return kinds_[index.kind].levels[index.level].transient;
  });
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
    const std::vector<ChoiceLevel>& levels = kinds_[index.kind].levels;
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
    for (const ChoiceLevel& level : kinds_[k].levels) transients_.push_back(level.transient);
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
      return is_cheaper(level_of(a).hull.front(), level_of(b).hull.front());
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
      if (!taken) continue;
      CoverIncrement increment = step.step;
      increment.item = item;
      knapsack_.add(increment);
    }
  }
  knapsack_.sum_up();
}

Bounds StageKnapsack::search(const StageSpan& span, Ticks below, std::int64_t most_nodes) {
  Bounds bounds{kNever, kNever};
  gather(span);
  fill(transients_.back());
  // The answer is never above the rough bound, however early the search is cut off.
  const Ticks greedy = knapsack_.greedy_cover(need(span, transients_.back()), &taken_);
  if (greedy < below) {
    bounds.upper = greedy;
  } else {
    taken_.clear();
  }
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
