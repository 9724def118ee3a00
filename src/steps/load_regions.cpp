// SPDX-License-Identifier: Apache-2.0
#include "steps/load_regions.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "steps/load_split.h"

namespace omnibal::steps {
namespace {

/// A leaf that can still be cut.
struct Candidate {
  LoadSplit split;
  std::uint32_t node = 0;
  std::size_t begin = 0, end = 0;  // its packs of the sample

  bool operator<(const Candidate& other) const {
    return split.gain != other.split.gain ? split.gain < other.split.gain : node > other.node;
  }
};

}  // namespace

LoadRegions::LoadRegions(std::vector<LoadedPack> sample, std::size_t num_regions,
                         std::size_t group_size, const AlikeRule& rule,
                         std::span<std::uint32_t> links)
    : nodes_(1), group_size_(group_size), links_(links) {
  grow(std::move(sample), num_regions, rule);
}

void LoadRegions::grow(std::vector<LoadedPack> sample, std::size_t num_regions,
                       const AlikeRule& rule) {
  std::priority_queue<Candidate> queue;
  const auto consider = [&](std::uint32_t node, std::size_t begin, std::size_t end) {
    if (begin == end) return;
    const LoadSplit split = best_split(std::span(sample).subspan(begin, end - begin), rule);
    if (split.gain > 0) queue.push({split, node, begin, end});
  };
  consider(0, 0, sample.size());
  for (std::size_t leaves = 1; leaves < num_regions && !queue.empty(); ++leaves) {
    const Candidate c = queue.top();
    queue.pop();
    const auto at = [&sample](std::size_t i) {
      return sample.begin() + static_cast<std::ptrdiff_t>(i);
    };
    const auto middle = std::partition(at(c.begin), at(c.end), [&c](const LoadedPack& pack) {
      return pack.load[c.split.load] < c.split.at;
    });
    const auto cut = static_cast<std::size_t>(middle - sample.begin());
    const auto light = static_cast<std::uint32_t>(nodes_.size());
    nodes_[c.node].at = c.split.at;
    nodes_[c.node].load = static_cast<std::uint32_t>(c.split.load);
    nodes_[c.node].light = light;
    nodes_.resize(nodes_.size() + 2);
    nodes_[light].parent = nodes_[light + 1].parent = c.node;
    consider(light, c.begin, cut);
    consider(light + 1, cut, c.end);
  }
}

std::optional<std::size_t> LoadRegions::add(const LoadedPack& pack, std::uint32_t id) {
  std::uint32_t n = 0;
  while (nodes_[n].light != kNone) {
    ++nodes_[n].waiting;
    n = nodes_[n].light + (pack.load[nodes_[n].load] < nodes_[n].at ? 0U : 1U);
  }
  Node& leaf = nodes_[n];
  links_[id] = std::exchange(leaf.first, id);
  if (++leaf.waiting < group_size_) return std::nullopt;
  return n;
}

std::size_t LoadRegions::fullest_region() const {
  std::uint32_t n = 0;
  while (nodes_[n].light != kNone) {
    const std::uint32_t light = nodes_[n].light;
    const std::uint32_t fuller = light + (nodes_[light + 1].waiting > nodes_[light].waiting);
    if (nodes_[fuller].waiting < group_size_) break;
    n = fuller;
  }
  return n;
}

void LoadRegions::take(std::size_t region, std::span<std::uint32_t> group) {
  const auto node = static_cast<std::uint32_t>(region);
  take_from(node, group);
  for (std::uint32_t n = nodes_[node].parent; n != kNone; n = nodes_[n].parent) {
    nodes_[n].waiting -= static_cast<std::uint32_t>(group.size());
  }
}

/// Fills `group` from the subtree as far as it has packs; returns how many.
std::size_t LoadRegions::take_from(std::uint32_t node, std::span<std::uint32_t> group) {
  std::size_t taken = 0;
  if (nodes_[node].light == kNone) {
    std::uint32_t& first = nodes_[node].first;
    for (; taken < group.size() && first != kNone; ++taken) {
      group[taken] = first;
      first = links_[first];
    }
  } else {
    taken = take_from(nodes_[node].light, group);
    taken += take_from(nodes_[node].light + 1, group.subspan(taken));
  }
  nodes_[node].waiting -= static_cast<std::uint32_t>(taken);
  return taken;
}

}  // namespace omnibal::steps
