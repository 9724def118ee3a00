// SPDX-License-Identifier: Apache-2.0
#include "steps/leaving_groups.h"

#include <algorithm>
#include <numeric>

#include "steps/alike_groups.h"
#include "steps/vision_classes.h"

namespace omnibal::steps {
namespace {

/// The smaller the share that leaves, the more often a pack is grouped and the better its group.
constexpr std::size_t kWindowPerLeaving = 8;

/// sum of (max - value) / max over the group, as a fraction of its size.
template <class ValueOf>
double waiting_share(std::span<const LoadedPack> group, const ValueOf& value_of) {
  double high = 0;
  double sum = 0;
  for (const LoadedPack& pack : group) {
    const double value = value_of(pack);
    high = std::max(high, value);
    sum += value;
  }
  return high > 0 ? 1 - sum / (high * static_cast<double>(group.size())) : 0;
}

/// What the ranks of the group wait for each other, weighed as group_alike does.
double unlikeness(std::span<const LoadedPack> group, const AlikeRule& rule) {
  double total = rule.weights.time * waiting_share(group, [&rule](const LoadedPack& pack) {
                   return rule.forward.at(
                       {pack.load[kVisionUnits], pack.load[kTokens], pack.load[kTokenPairs]});
                 });
  for (std::size_t k = 0; k < kNumLoads; ++k) {
    total += rule.weights.load[k] * waiting_share(group, [k](const LoadedPack& pack) {
               return static_cast<double>(pack.load[k]);
             });
  }
  return total;
}

/// All packs of the window as groups of `size`; `pack` is an index into it.
std::vector<LoadedPack> group_classes(std::span<const WaitingPack> window, std::size_t size,
                                      const AlikeRule& rule) {
  std::vector<metrics::PackLoad> loads;
  for (const WaitingPack& waiting : window) loads.push_back(waiting.pack.load);
  std::vector<std::uint32_t> arrival(window.size());
  std::iota(arrival.begin(), arrival.end(), 0U);
  VisionClasses classes = classify(arrival, loads);
  std::vector<LoadedPack> groups, left_over;
  groups.reserve(window.size());
  std::size_t begin = 0;
  for (const std::size_t end : classes.ends) {
    const auto packs = std::span(classes.packs).subspan(begin, end - begin);
    const auto whole = packs.first(packs.size() / size * size);
    group_alike(whole, size, rule);
    groups.insert(groups.end(), whole.begin(), whole.end());
    left_over.insert(left_over.end(), whole.end(), packs.end());
    begin = end;
  }
  group_alike(left_over, size, rule);
  groups.insert(groups.end(), left_over.begin(), left_over.end());
  return groups;
}

/// Groups in order of unlikeness, a tie in order of place.
std::vector<std::size_t> most_alike_first(std::span<const LoadedPack> groups, std::size_t size,
                                          const AlikeRule& rule) {
  std::vector<double> scores;
  for (std::size_t begin = 0; begin < groups.size(); begin += size) {
    scores.push_back(unlikeness(groups.subspan(begin, size), rule));
  }
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&scores](std::size_t a, std::size_t b) {
    return scores[a] != scores[b] ? scores[a] < scores[b] : a < b;
  });
  return order;
}

}  // namespace

std::vector<std::uint32_t> leaving_groups(std::span<const WaitingPack> window,
                                          const StepOptions& options) {
  const auto size = static_cast<std::size_t>(options.dp);
  const AlikeRule rule{.forward = options.forward, .weights = {}};
  const std::vector<LoadedPack> packs = group_classes(window, size, rule);
  const std::vector<std::size_t> order = most_alike_first(packs, size, rule);
  const std::size_t share = (order.size() + kWindowPerLeaving - 1) / kWindowPerLeaving;
  std::vector<std::uint32_t> leaving;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const auto group = std::span(packs).subspan(order[rank] * size, size);
    const bool leaves =
        rank < share || std::any_of(group.begin(), group.end(), [&window](const LoadedPack& pack) {
          return window[pack.pack].groupings + 1 >= kMostGroupings;
        });
    if (!leaves) continue;
    for (const LoadedPack& pack : group) leaving.push_back(pack.pack);
  }
  return leaving;
}

}  // namespace omnibal::steps
