// SPDX-License-Identifier: Apache-2.0
#include "joint/stage_knapsack.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <tuple>

namespace omnibal::joint {
namespace {

/// Options that no other beats in both cost and saving, most saving first.
std::vector<CoverOption> useful_options(const JointLayer& layer, const TickScale& scale) {
  std::vector<CoverOption> options;
  for (std::size_t c = 0; c < layer.choices.size(); ++c) {
    const std::int64_t saving = layer.activation_bytes - layer.choices[c].kept_bytes;
    if (saving <= 0) continue;
    options.push_back(
        {saving, scale.ticks(layer.choices[c].recompute_s), static_cast<std::int32_t>(c) + 1});
  }
  std::ranges::stable_sort(options, [](const CoverOption& a, const CoverOption& b) {
    return std::tie(b.saving, a.cost) < std::tie(a.saving, b.cost);
  });
  std::vector<CoverOption> useful;
  for (const CoverOption& option : options) {  // most saving first: later ones must be cheaper
    if (useful.empty() || option.cost < useful.back().cost) useful.push_back(option);
  }
  return useful;
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

void StageKnapsack::gather_kinds(std::span<const JointLayer> layers, const TickScale& scale) {
  using Key = std::tuple<std::int64_t, std::vector<std::tuple<std::int64_t, Ticks, std::int32_t>>>;
  std::map<Key, std::size_t> index;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    std::vector<CoverOption> options = useful_options(layers[i], scale);
    if (options.empty()) continue;
    Key key{layers[i].activation_bytes, {}};
    for (const CoverOption& o : options) std::get<1>(key).emplace_back(o.saving, o.cost, o.choice);
    const auto [place, is_new] = index.emplace(std::move(key), kinds_.size());
    if (is_new) {
      const std::int64_t most_saving = options.front().saving;
      kinds_.push_back({layers[i].activation_bytes, most_saving, std::move(options), {}});
    }
    kinds_[place->second].layers.push_back(static_cast<std::int32_t>(i));
  }
}

void StageKnapsack::order_kinds() {
  const auto cheaper = [](const auto& a, const auto& b) {
    return is_cheaper(a.cost, a.saving, b.cost, b.saving);
  };
  const auto hull_of = [&](const LayerKind& kind) {
    std::vector<CoverOption> hull;  // increments; marginal cost a byte rises
    CoverOption last;
    for (const CoverOption& option : std::views::reverse(kind.options)) {
      CoverOption step{option.saving - last.saving, option.cost - last.cost, 0};
      while (!hull.empty() && !cheaper(hull.back(), step)) {
        step = {step.saving + hull.back().saving, step.cost + hull.back().cost, 0};
        hull.pop_back();
      }
      hull.push_back(step);
      last = option;
    }
    return hull;
  };
  std::ranges::stable_sort(kinds_, [&](const LayerKind& a, const LayerKind& b) {
    return cheaper(hull_of(a).front(), hull_of(b).front());
  });
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    for (const CoverOption& step : hull_of(kinds_[k])) {
      increments_.push_back({static_cast<std::int32_t>(k), step.saving, step.cost});
    }
    by_activation_.push_back(k);
  }
  std::ranges::stable_sort(increments_, cheaper);
  std::ranges::stable_sort(by_activation_, {},
                           [&](std::size_t k) { return kinds_[k].activation_bytes; });
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
  for (const std::size_t k : by_activation_) {
    const std::int32_t layers = count(k, span);
    if (layers == 0) continue;
    kept -= layers * kinds_[k].most_saving;
    least = std::min(least, fixed + tables().in_flight(span) * kept + kinds_[k].activation_bytes);
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
    transients_.push_back(kinds_[k].activation_bytes);
  }
  std::ranges::sort(transients_);
  transients_.erase(std::ranges::unique(transients_).begin(), transients_.end());
}

void StageKnapsack::fill(std::int64_t transient) {
  knapsack_.clear();
  std::ranges::fill(item_of_kind_, -1);
  bool one_increment_each = true;
  for (const Present& present : present_) {
    const LayerKind& kind = kinds_[present.kind];
    if (kind.activation_bytes > transient) continue;
    item_of_kind_[present.kind] = knapsack_.num_items();
    one_increment_each = one_increment_each && kind.options.size() == 1;
    knapsack_.add(CoverItem{static_cast<std::int32_t>(present.kind), present.count, kind.options});
  }
  if (one_increment_each) {
    knapsack_.add_increments_of_single_options();
  } else {
    for (const KindIncrement& step : increments_) {
      const std::int32_t item = item_of_kind_[static_cast<std::size_t>(step.kind)];
      if (item >= 0) knapsack_.add(CoverIncrement{item, step.saving, step.cost});
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
