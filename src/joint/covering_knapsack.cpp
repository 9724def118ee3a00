// SPDX-License-Identifier: Apache-2.0
#include "joint/covering_knapsack.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace omnibal::joint {
namespace {

__extension__ typedef __int128 Wide;  // bytes x ticks

/// Cost of the part of an increment that covers `need`, rounded up.
Ticks partial_cost(std::int64_t need, std::int64_t saving, Ticks cost) {
  return static_cast<Ticks>((Wide{cost} * need + saving - 1) / saving);
}

}  // namespace

bool is_cheaper(Ticks cost_a, std::int64_t saving_a, Ticks cost_b, std::int64_t saving_b) {
  return Wide{cost_a} * saving_b < Wide{cost_b} * saving_a;
}

void CoveringKnapsack::clear() {
  items_.clear();
  increments_.clear();
}

void CoveringKnapsack::add_increments_of_single_options() {
  for (const CoverItem& item : items_) {
    increments_.push_back({static_cast<std::int32_t>(increments_.size()),
                           item.options.front().saving, item.options.front().cost,
                           item.options.front().choice});
  }
}

void CoveringKnapsack::sum_up() {
  by_sums_ = std::ranges::all_of(items_, [](const CoverItem& i) { return i.options.size() == 1; });
  if (!by_sums_) return;
  saving_before_.assign(1, 0);
  cost_before_.assign(1, 0);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    saving_before_.push_back(saving_before_.back() + increments_[i].saving * items_[i].count);
    cost_before_.push_back(cost_before_.back() + increments_[i].cost * items_[i].count);
  }
}

Ticks CoveringKnapsack::relaxed_by_sums(std::size_t item, std::int64_t need) const {
  const std::int64_t target = saving_before_[item] + need;
  if (saving_before_.back() < target) return kNever;
  const auto found = std::lower_bound(
      saving_before_.begin() + static_cast<std::ptrdiff_t>(item) + 1, saving_before_.end(), target);
  const auto last = static_cast<std::size_t>(found - saving_before_.begin()) - 1;
  return cost_before_[last] - cost_before_[item] +
         partial_cost(target - saving_before_[last], increments_[last].saving,
                      increments_[last].cost);
}

Ticks CoveringKnapsack::relaxed_from(const Place& at, std::int64_t need) const {
  if (need <= 0) return 0;
  if (at.item >= items_.size()) return kNever;
  if (by_sums_) return relaxed_by_sums(at.item, need);
  Ticks cost = 0;
  for (const CoverIncrement& increment : increments_) {
    const auto item = static_cast<std::size_t>(increment.item);
    if (item < at.item) continue;
    const std::int64_t count = item == at.item ? at.left : items_[item].count;
    if (increment.saving * count >= need) {
      return cost + partial_cost(need, increment.saving, increment.cost);
    }
    need -= increment.saving * count;
    cost += increment.cost * count;
  }
  return kNever;
}

Ticks CoveringKnapsack::relaxed_cover(std::int64_t need) const {
  return relaxed_from({0, 0, items_.empty() ? 0 : items_[0].count}, need);
}

Ticks CoveringKnapsack::greedy_cover(std::int64_t need, std::vector<Taken>* taken_options) const {
  Ticks cost = 0;
  std::vector<std::int32_t> choices(items_.size(), 0);  // of all layers of an item so far
  if (taken_options != nullptr) taken_options->clear();
  for (const CoverIncrement& increment : increments_) {
    if (need <= 0) break;
    const std::int64_t count = items_[static_cast<std::size_t>(increment.item)].count;
    const std::int64_t taken = std::min(count, (need + increment.saving - 1) / increment.saving);
    need -= increment.saving * taken;
    cost += increment.cost * taken;
    if (taken_options == nullptr) continue;
    const auto item = static_cast<std::size_t>(increment.item);
    if (taken == count) {
      choices[item] = increment.choice;
    } else {  // the last one: the other layers stay where they are
      taken_options->push_back(
          {items_[item].item_class, increment.choice, static_cast<std::int32_t>(taken)});
      if (choices[item] != 0) {
        taken_options->push_back(
            {items_[item].item_class, choices[item], static_cast<std::int32_t>(count - taken)});
        choices[item] = 0;
      }
    }
  }
  if (need > 0) return kNever;
  for (std::size_t i = 0; taken_options != nullptr && i < items_.size(); ++i) {
    if (choices[i] == 0) continue;
    taken_options->push_back({items_[i].item_class, choices[i], items_[i].count});
  }
  return cost;
}

void CoveringKnapsack::enter_item(std::size_t item, std::int64_t need, Ticks cost) {
  if (need <= 0) {
    if (cost < best_cost_) {
      best_cost_ = cost;
      best_ = chosen_;
    }
    return;
  }
  if (item < items_.size()) descend({item, 0, items_[item].count}, need, cost);
}

void CoveringKnapsack::descend(const Place& at, std::int64_t need, Ticks cost) {
  const Ticks bound = relaxed_from(at, need);
  if (bound >= kNever || cost + bound >= best_cost_ || nodes_ > most_nodes_ ||
      best_cost_ <= root_bound_) {
    return;
  }
  ++nodes_;
  const CoverItem& item = items_[at.item];
  const CoverOption& option = item.options[at.option];
  const bool last_option = at.option + 1 == item.options.size();
  const std::int64_t enough = (need + option.saving - 1) / option.saving;
  auto count = static_cast<std::int32_t>(std::min<std::int64_t>(at.left, enough));
  for (; count >= 0; --count) {
    if (count > 0) chosen_.push_back({item.item_class, option.choice, count});
    const std::int64_t still = need - option.saving * count;
    const Ticks spent = cost + option.cost * count;
    if (last_option || still <= 0) {
      enter_item(at.item + 1, still, spent);
    } else {
      descend({at.item, at.option + 1, at.left - count}, still, spent);
    }
    if (count > 0) chosen_.pop_back();
    // With one option an item, fewer of this one (the cheapest a byte that is left) only cost more.
    if (by_sums_ && still > 0 && spent + relaxed_by_sums(at.item + 1, still) >= best_cost_) return;
  }
}

Ticks CoveringKnapsack::bound_by_number(std::int64_t need) const {
  std::vector<std::pair<std::int64_t, std::int32_t>> savings;
  std::vector<std::pair<Ticks, std::int32_t>> costs;
  for (const CoverItem& item : items_) {
    savings.emplace_back(std::ranges::max(item.options, {}, &CoverOption::saving).saving,
                         item.count);
    costs.emplace_back(std::ranges::min(item.options, {}, &CoverOption::cost).cost, item.count);
  }
  std::ranges::sort(savings, std::greater{});
  std::ranges::sort(costs);
  std::int64_t number = 0;
  for (const auto& [saving, count] : savings) {
    const std::int64_t taken = std::min<std::int64_t>(count, (need + saving - 1) / saving);
    need -= saving * taken;
    number += taken;
    if (need <= 0) break;
  }
  Ticks cost = 0;
  for (const auto& [each, count] : costs) {
    const std::int64_t taken = std::min<std::int64_t>(count, number);
    cost += each * taken;
    number -= taken;
  }
  return cost;
}

CoveringKnapsack::Cover CoveringKnapsack::least_cover(std::int64_t need, Ticks below,
                                                      std::int64_t most_nodes) {
  best_cost_ = below;
  best_.clear();
  chosen_.clear();
  nodes_ = 0;
  most_nodes_ = most_nodes + num_items();
  root_bound_ = relaxed_cover(need);
  if (root_bound_ < below) root_bound_ = std::max(root_bound_, bound_by_number(need));
  if (root_bound_ >= below) return {root_bound_, kNever, 0};
  enter_item(0, need, 0);
  const Ticks upper = best_cost_ < below ? best_cost_ : kNever;
  return {nodes_ > most_nodes_ ? std::min(root_bound_, best_cost_) : best_cost_, upper, nodes_};
}

}  // namespace omnibal::joint
