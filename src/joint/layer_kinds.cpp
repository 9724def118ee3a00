// SPDX-License-Identifier: Apache-2.0
#include "joint/layer_kinds.h"

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

/// Increments of `options` whose cost a byte rises.
std::vector<CoverIncrement> hull_of(const std::vector<CoverOption>& options) {
  std::vector<CoverIncrement> hull;
  CoverOption last;
  for (const CoverOption& option : std::views::reverse(options)) {
    CoverIncrement step{0, option.saving - last.saving, option.cost - last.cost, option.choice};
    while (!hull.empty() && !is_cheaper(hull.back(), step)) {
      step.saving += hull.back().saving;
      step.cost += hull.back().cost;
      hull.pop_back();
    }
    hull.push_back(step);
    last = option;
  }
  return hull;
}

std::vector<ChoiceLevel> levels_of(const JointLayer& layer, const TickScale& scale) {
  const std::vector<Candidate> candidates = candidates_of(layer, scale);
  std::vector<std::int64_t> transients;
  for (const Candidate& candidate : candidates) transients.push_back(candidate.transient);
  std::ranges::sort(transients);
  transients.erase(std::ranges::unique(transients).begin(), transients.end());
  std::vector<ChoiceLevel> levels;
  for (const std::int64_t transient : transients) {
    std::vector<CoverOption> options = useful_options(candidates, transient);
    if (!levels.empty() && levels.back().options == options) continue;
    std::vector<CoverIncrement> hull = hull_of(options);
    levels.push_back({transient, std::move(options), std::move(hull)});
  }
  return levels;
}

}  // namespace

std::int32_t LayerKind::level_within(std::int64_t transient) const {
  auto level = static_cast<std::int32_t>(levels.size()) - 1;
  while (level >= 0 && levels[static_cast<std::size_t>(level)].transient > transient) --level;
  return level;
}

std::vector<LayerKind> layer_kinds(std::span<const JointLayer> layers, const TickScale& scale) {
  using Key = std::vector<std::tuple<std::int64_t, std::int64_t, Ticks, std::int32_t>>;
  std::map<Key, std::size_t> index;
  std::vector<LayerKind> kinds;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    std::vector<ChoiceLevel> levels = levels_of(layers[i], scale);
    if (levels.empty()) continue;
    Key key;
    for (const ChoiceLevel& level : levels) {
      for (const CoverOption& o : level.options) {
        key.emplace_back(level.transient, o.saving, o.cost, o.choice);
      }
    }
    const auto [place, is_new] = index.emplace(std::move(key), kinds.size());
    if (is_new) kinds.push_back({std::move(levels), {}});
    kinds[place->second].layers.push_back(static_cast<std::int32_t>(i));
  }
  std::ranges::stable_sort(kinds, [](const LayerKind& a, const LayerKind& b) {
    return is_cheaper(a.levels.back().hull.front(), b.levels.back().hull.front());
  });
  return kinds;
}

}  // namespace omnibal::joint
