// SPDX-License-Identifier: Apache-2.0
#include "partition/neighbours.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace omnibal::partition {
namespace {

constexpr double kNothingFound = std::numeric_limits<double>::infinity();

}  // namespace

bool Neighbours::Later::operator()(std::int32_t a, std::int32_t b) const {
  const Node& x = (*nodes)[static_cast<std::size_t>(a)];
  const Node& y = (*nodes)[static_cast<std::size_t>(b)];
  if (x.estimate != y.estimate) return x.estimate > y.estimate;
  if (x.level != y.level) return x.level < y.level;  // finish what is begun
  return a > b;
}

Neighbours::Neighbours(std::span<const double> weights, const Cuts& anchor, std::int32_t radius)
    : weights_(weights), open_(Later{&nodes_}) {
  const auto num_layers = static_cast<std::int32_t>(weights.size());
  const auto num_stages = static_cast<std::int32_t>(anchor.size()) + 1;
  mean_ = std::accumulate(weights.begin(), weights.end(), 0.0) / num_stages;
  const std::int32_t reach = std::min(radius, num_layers);
  windows_.push_back({0, 0, {}});
  for (std::int32_t level = 1; level < num_stages; ++level) {
    const std::int32_t cut = anchor[static_cast<std::size_t>(level) - 1].value();
    windows_.push_back({std::max(level, cut - reach),
                        std::min(num_layers - (num_stages - level), cut + reach),
                        {}});
  }
  windows_.push_back({num_layers, num_layers, {0.0}});
  for (std::int32_t level = num_stages - 1; level >= 0; --level) fill_rest(level);
  push({0, windows_[0].rest[0], 0, 0, -1});
}

template <class Visit>
void Neighbours::for_each_end(std::int32_t level, std::int32_t begin, const Visit& visit) const {
  const Window& ends = windows_[static_cast<std::size_t>(level) + 1];
  double sum = 0;
  for (std::int32_t end = begin + 1; end <= ends.high; ++end) {
    sum += weights_[static_cast<std::size_t>(end) - 1];
    if (end >= ends.low) visit(end, (sum - mean_) * (sum - mean_));
  }
}

void Neighbours::fill_rest(std::int32_t level) {
  Window& window = windows_[static_cast<std::size_t>(level)];
  const Window& ends = windows_[static_cast<std::size_t>(level) + 1];
  for (std::int32_t begin = window.low; begin <= window.high; ++begin) {
    double least = kNothingFound;
    for_each_end(level, begin, [&](std::int32_t end, double cost) {
      least = std::min(least, cost + ends.rest[static_cast<std::size_t>(end - ends.low)]);
    });
    window.rest.push_back(least);
  }
}

void Neighbours::push(const Node& node) {
  if (node.estimate == kNothingFound) return;
  nodes_.push_back(node);
  open_.push(static_cast<std::int32_t>(nodes_.size()) - 1);
}

void Neighbours::expand(std::int32_t index) {
  const Node node = nodes_[static_cast<std::size_t>(index)];
  const Window& ends = windows_[static_cast<std::size_t>(node.level) + 1];
  for_each_end(node.level, node.position, [&](std::int32_t end, double stage_cost) {
    const double cost = node.cost + stage_cost;
    const double estimate = cost + ends.rest[static_cast<std::size_t>(end - ends.low)];
    push({cost, estimate, node.level + 1, end, index});
  });
}

std::optional<ScoredCuts> Neighbours::next() {
  const auto num_stages = static_cast<std::int32_t>(windows_.size()) - 1;
  while (!open_.empty()) {
    const std::int32_t index = open_.top();
    open_.pop();
    const Node& node = nodes_[static_cast<std::size_t>(index)];
    if (node.level < num_stages) {
      expand(index);
      continue;
    }
    ScoredCuts found{Cuts(static_cast<std::size_t>(num_stages) - 1), node.cost};
    for (std::int32_t at = node.parent; nodes_[static_cast<std::size_t>(at)].level > 0;) {
      const Node& cut = nodes_[static_cast<std::size_t>(at)];
      found.cuts[static_cast<std::size_t>(cut.level) - 1] = LayerIndex{cut.position};
      at = cut.parent;
    }
    return found;
  }
  return std::nullopt;
}

}  // namespace omnibal::partition
