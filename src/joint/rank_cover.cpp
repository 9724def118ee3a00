// SPDX-License-Identifier: Apache-2.0
#include "joint/rank_cover.h"

#include <algorithm>
#include <limits>

namespace omnibal::joint {
namespace {

/// Rates are rounded: what follows from them is lowered by more than that.
constexpr double kBelowRounding = 1 - 1e-9;

}  // namespace

RankCover::RankCover(const std::vector<RankCoverItem>& items,
                     const std::vector<std::int32_t>& weights, std::size_t num_stages)
    : items_(items),
      weights_(weights),
      num_stages_(num_stages),
      num_needs_(weights.size() / num_stages),
      rest_(num_needs_ * (items.size() + 1), 0),
      least_rate_(num_needs_ * (items.size() + 1), std::numeric_limits<double>::infinity()) {
  for (std::size_t q = 0; q < num_needs_; ++q) {
    const std::size_t row = q * (items_.size() + 1);
    for (std::size_t i = items_.size(); i-- > 0;) {
      std::size_t behind = i + 1;  // the first item of other layers
      while (behind < items_.size() && is_same_group(i, behind)) ++behind;
      const std::int64_t saving = weight(q, i) * items_[i].saving;
      rest_[row + i] = rest_[row + behind] + saving * items_[i].count;
      least_rate_[row + i] = least_rate_[row + i + 1];
      if (saving == 0) continue;
      const double rate = static_cast<double>(items_[i].cost) / static_cast<double>(saving);
      least_rate_[row + i] = std::min(least_rate_[row + i], rate);
    }
  }
}

std::int64_t RankCover::weight(std::size_t need, std::size_t item) const {
  return weights_[need * num_stages_ + static_cast<std::size_t>(items_[item].stage)];
}

bool RankCover::is_same_group(std::size_t a, std::size_t b) const {
  return items_[a].stage == items_[b].stage && items_[a].kind == items_[b].kind;
}

bool RankCover::is_hopeless(std::size_t item, const std::vector<std::int64_t>& needs,
                            Ticks cost) const {
  for (std::size_t q = 0; q < num_needs_; ++q) {
    if (needs[q] <= 0) continue;
    const std::size_t at = q * (items_.size() + 1) + item;
    if (rest_[at] < needs[q]) return true;
    const double least = static_cast<double>(needs[q]) * least_rate_[at] * kBelowRounding;
    if (static_cast<double>(best_cost_ - cost) <= least) return true;
  }
  return false;
}

std::int32_t RankCover::most_useful(std::size_t item,
                                    const std::vector<std::int64_t>& needs) const {
  std::int64_t most = 0;
  for (std::size_t q = 0; q < num_needs_; ++q) {
    const std::int64_t saving = weight(q, item) * items_[item].saving;
    if (needs[q] > 0 && saving > 0) most = std::max(most, (needs[q] + saving - 1) / saving);
  }
  return static_cast<std::int32_t>(std::min<std::int64_t>(most, items_[item].count));
}

void RankCover::descend(std::size_t item, std::int32_t left, const std::vector<std::int64_t>& needs,
                        Ticks cost) {
  if (cost >= best_cost_) return;
  if (std::ranges::all_of(needs, [](std::int64_t need) { return need <= 0; })) {
    best_cost_ = cost;
    best_ = chosen_;
    return;
  }
  if (item == items_.size() || is_hopeless(item, needs, cost)) return;
  if (++nodes_ > most_nodes_) {
    was_cut_off_ = true;
    return;
  }
  const bool ends_group = item + 1 == items_.size() || !is_same_group(item, item + 1);
  for (std::int32_t n = std::min(left, most_useful(item, needs)); n >= 0; --n) {
    std::vector<std::int64_t> unmet = needs;
    for (std::size_t q = 0; q < num_needs_; ++q) {
      unmet[q] -= n * weight(q, item) * items_[item].saving;
    }
    if (n > 0) chosen_.push_back({item, n});
    const std::int32_t still =
        ends_group && item + 1 < items_.size() ? items_[item + 1].count : left - n;
    descend(item + 1, still, unmet, cost + n * items_[item].cost);
    if (n > 0) chosen_.pop_back();
    if (was_cut_off_) return;
  }
}

Ticks RankCover::least_cost(const std::vector<std::int64_t>& needs, Ticks below,
                            std::int64_t most_nodes) {
  best_cost_ = below;
  best_.clear();
  chosen_.clear();
  nodes_ = 0;
  most_nodes_ = most_nodes + static_cast<std::int64_t>(items_.size()) + 1;
  was_cut_off_ = false;
  descend(0, items_.empty() ? 0 : items_.front().count, needs, 0);
  return best_cost_ < below ? best_cost_ : kNever;
}

}  // namespace omnibal::joint
