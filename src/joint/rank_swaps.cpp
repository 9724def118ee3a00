// SPDX-License-Identifier: Apache-2.0
#include "joint/rank_swaps.h"

#include <algorithm>

namespace omnibal::joint {

RankSwaps::RankSwaps(const RankBytes& bytes, std::int64_t limit_bytes,
                     std::span<const JointLayer> layers, const TickScale& scale,
                     const RankSpans& spans)
    : bytes_(bytes),
      limit_bytes_(limit_bytes),
      most_held_(spans.size(), 0),
      savings_(spans.size()) {
  for (std::size_t s = 0; s < spans.size(); ++s) {
    for (const schedule::FullMoment& moment : bytes.rank.moments) {
      most_held_[s] = std::max<std::int64_t>(most_held_[s], moment.held[s].for_backward);
    }
    for (std::int32_t i = spans[s].begin; i < spans[s].end; ++i) {
      std::vector<RankOption> options = rank_options(layers[static_cast<std::size_t>(i)], scale);
      if (options.empty() || most_held_[s] == 0) continue;
      options.push_back({});
      const std::size_t none = options.size() - 1;
      items_.push_back({s, i, std::move(options), none});
    }
  }
}

void RankSwaps::take(Item& item, std::size_t option) {
  savings_[item.stage] += item.options[option].saving - item.now().saving;
  item.taken = option;
}

void RankSwaps::start_with(const std::vector<LayerChoice>& choices) {
  for (Item& item : items_) {
    take(item, item.options.size() - 1);
    const auto named = std::ranges::find(choices, item.layer, &LayerChoice::first);
    if (named == choices.end()) continue;
    const auto option = std::ranges::find(item.options, named->second, &RankOption::choice);
    take(item, static_cast<std::size_t>(option - item.options.begin()));
  }
}

void RankSwaps::start_within(const RankCaps& caps) {
  for (Item& item : items_) {
    const auto most = std::ranges::find_if(item.options, [&](const RankOption& option) {
      return option.transient <= caps.transients[item.stage];
    });
    take(item, static_cast<std::size_t>(most - item.options.begin()));
  }
}

bool RankSwaps::fits() const {
  std::vector<std::int64_t> transients(savings_.size(), 0);
  for (const Item& item : items_) {
    transients[item.stage] = std::max(transients[item.stage], item.now().transient);
  }
  return peak_with(bytes_, savings_, transients) <= limit_bytes_;
}

bool RankSwaps::take_if_fits(Item& item, std::size_t option) {
  const std::size_t before = item.taken;
  take(item, option);
  if (fits()) return true;
  take(item, before);
  return false;
}

void RankSwaps::drop() {
  std::vector<std::pair<double, Item*>> order;  // cost of a byte where most is held
  for (Item& item : items_) {
    if (item.now().saving == 0) continue;
    order.emplace_back(-static_cast<double>(item.now().cost) /
                           static_cast<double>(item.now().saving * most_held_[item.stage]),
                       &item);
  }
  std::ranges::stable_sort(order, {}, &std::pair<double, Item*>::first);
  for (const auto& [rate, item] : order) {
    for (std::size_t o = item->options.size(); o-- > 0;) {
      if (item->options[o].cost < item->now().cost) take_if_fits(*item, o);
    }
  }
}

/// `item` takes something cheaper, `other` something dearer.
bool RankSwaps::swap_with(Item& item, Item& other) {
  const std::size_t before = item.taken;
  for (std::size_t o = 0; o < item.options.size(); ++o) {
    const Ticks gain = item.options[before].cost - item.options[o].cost;
    if (gain <= 0) continue;
    for (std::size_t with = 0; with < other.options.size(); ++with) {
      const Ticks loss = other.options[with].cost - other.now().cost;
      if (loss >= gain || other.options[with].saving <= other.now().saving) continue;
      ++tried_;
      take(item, o);
      if (take_if_fits(other, with)) return true;
      take(item, before);
    }
  }
  return false;
}

void RankSwaps::swap() {
  bool improves = true;
  while (improves && tried_ < kMostSwapsTried) {
    drop();
    improves = false;
    for (Item& item : items_) {
      for (Item& other : items_) {
        if (&item == &other || item.now().cost == 0) continue;
        improves = swap_with(item, other) || improves;
      }
    }
  }
}

Ticks RankSwaps::cost() const {
  Ticks cost = 0;
  for (const Item& item : items_) cost += item.now().cost;
  return cost;
}

std::vector<Ticks> RankSwaps::cost_of_stages() const {
  std::vector<Ticks> costs(savings_.size(), 0);
  for (const Item& item : items_) costs[item.stage] += item.now().cost;
  return costs;
}

std::vector<LayerChoice> RankSwaps::choices() const {
  std::vector<LayerChoice> choices;
  for (const Item& item : items_) {
    if (item.now().choice != 0) choices.emplace_back(item.layer, item.now().choice);
  }
  return choices;
}

}  // namespace omnibal::joint
