// SPDX-License-Identifier: Apache-2.0
#include "steps/vision_classes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace omnibal::steps {
namespace {

constexpr int kClassBits = 9;
constexpr std::size_t kMedianSample = 4096;

std::uint64_t class_of(std::int64_t vision_units) {
  const auto units = static_cast<std::uint64_t>(vision_units);
  const int shift = std::max(0, static_cast<int>(std::bit_width(units)) - kClassBits);
  return units >> shift << shift;
}

/// Where the packs of each class begin, by class; `ends` likewise in order of class.
std::unordered_map<std::uint64_t, std::size_t> class_begins(
    std::span<const metrics::PackLoad> loads, std::span<const std::uint32_t> order,
    std::vector<std::size_t>& ends) {
  std::unordered_map<std::uint64_t, std::size_t> sizes;
  for (const std::uint32_t pack : order) ++sizes[class_of(loads[pack].vision_units)];
  std::vector<std::uint64_t> classes;
  for (const auto& [vision_class, size] : sizes) classes.push_back(vision_class);
  std::sort(classes.begin(), classes.end());
  std::size_t begin = 0;
  for (const std::uint64_t vision_class : classes) {
    const std::size_t size = std::exchange(sizes[vision_class], begin);
    ends.push_back(begin += size);
  }
  return sizes;
}

/// How much of its groups' waiting is due to mixed vision units, whatever else they hold: the sum
/// of (max - v) / max over the group that begins at each place of packs in descending order.
std::vector<double> group_costs(std::span<const LoadedPack> packs, std::size_t size) {
  std::vector<double> sums(packs.size() + 1);
  for (std::size_t i = 0; i < packs.size(); ++i) {
    sums[i + 1] = sums[i] + static_cast<double>(packs[i].load[kVisionUnits]);
  }
  std::vector<double> costs(packs.size());
  for (std::size_t i = 0; i + size <= packs.size(); ++i) {
    const auto largest = static_cast<double>(packs[i].load[kVisionUnits]);
    if (largest > 0) costs[i] = static_cast<double>(size) - (sums[i + size] - sums[i]) / largest;
  }
  return costs;
}

/// For packs in descending order, how many to leave out before each group and after the last.
std::vector<std::size_t> left_out_before(std::span<const LoadedPack> packs, std::size_t size) {
  const std::size_t groups = packs.size() / size;
  const std::size_t spare = packs.size() % size;
  const std::vector<double> costs = group_costs(packs, size);
  // least[m]: of the groups so far, m packs left out before the last of them.
  std::vector<double> least(spare + 1);
  std::vector<std::vector<std::uint32_t>> out_by_then(groups);  // [group][m]: best m' <= m
  for (std::size_t g = 0; g < groups; ++g) {
    std::uint32_t best = 0;
    std::vector<double> next(spare + 1);
    for (std::size_t m = 0; m <= spare; ++m) {
      if (least[m] < least[best]) best = static_cast<std::uint32_t>(m);
      out_by_then[g].push_back(best);
      next[m] = least[best] + costs[g * size + m];
    }
    least = std::move(next);
  }
  std::vector<std::size_t> before(groups + 1);
  auto m = static_cast<std::size_t>(std::min_element(least.begin(), least.end()) - least.begin());
  before[groups] = spare - m;
  for (std::size_t g = groups; g-- > 0;) {
    before[g] = m - out_by_then[g][m];
    m = out_by_then[g][m];
  }
  return before;
}

}  // namespace

VisionClasses classify(std::span<const std::uint32_t> order,
                       std::span<const metrics::PackLoad> loads) {
  VisionClasses classes;
  auto next = class_begins(loads, order, classes.ends);
  classes.first_is_idle = next.contains(0);
  classes.packs.resize(order.size());
  for (const std::uint32_t pack : order) {
    classes.packs[next[class_of(loads[pack].vision_units)]++] = with_load(loads[pack], pack);
  }
  return classes;
}

LoadedPack typical_pack(std::span<const std::uint32_t> order,
                        std::span<const metrics::PackLoad> loads) {
  LoadedPack typical;
  const auto sample = order.first(std::min(order.size(), kMedianSample));
  std::vector<float> values(sample.size());
  for (std::size_t k = 0; k < kNumLoads; ++k) {
    for (std::size_t i = 0; i < sample.size(); ++i)
      values[i] = with_load(loads[sample[i]], sample[i]).load[k];
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    typical.load[k] = *middle;
  }
  return typical;
}

void most_typical_last(std::span<LoadedPack> packs, std::size_t count, const LoadedPack& typical,
                       const AlikeRule& rule) {
  if (count == 0 || count == packs.size()) return;
  const auto distance = [&](const LoadedPack& pack) {
    double sum = 0;
    for (const std::size_t k : {kTokens, kTokenPairs}) {
      const auto from = static_cast<double>(typical.load[k]);
      sum += rule.weights.load[k] * std::abs(static_cast<double>(pack.load[k]) - from) /
             std::max(from, 1.0);
    }
    return static_cast<float>(sum);
  };
  std::vector<float> distances(packs.size());
  for (std::size_t i = 0; i < packs.size(); ++i) distances[i] = distance(packs[i]);
  const auto limit = distances.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::nth_element(distances.begin(), limit, distances.end());
  const float farthest = *limit;
  auto at_limit = static_cast<std::size_t>(std::count(
      distances.begin(), distances.begin() + static_cast<std::ptrdiff_t>(count), farthest));
  std::vector<LoadedPack> moved;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < packs.size(); ++i) {
    const float d = distance(packs[i]);
    if (d < farthest || (d == farthest && at_limit > 0)) {
      at_limit -= d == farthest ? 1 : 0;
      moved.push_back(packs[i]);
    } else {
      packs[kept++] = packs[i];
    }
  }
  std::copy(moved.begin(), moved.end(), packs.begin() + static_cast<std::ptrdiff_t>(kept));
}

void least_matching_last(std::vector<LoadedPack>& packs, std::size_t size) {
  if (packs.size() % size == 0) return;
  std::stable_sort(packs.begin(), packs.end(), [](const LoadedPack& a, const LoadedPack& b) {
    return a.load[kVisionUnits] > b.load[kVisionUnits];
  });
  const std::vector<std::size_t> before = left_out_before(packs, size);
  std::vector<LoadedPack> in, out;
  auto next = packs.begin();
  const auto move = [&next](std::size_t count, std::vector<LoadedPack>& to) {
    to.insert(to.end(), next, next + static_cast<std::ptrdiff_t>(count));
    next += static_cast<std::ptrdiff_t>(count);
  };
  for (std::size_t g = 0; g < before.size(); ++g) {
    move(before[g], out);
    if (g + 1 < before.size()) move(size, in);
  }
  in.insert(in.end(), out.begin(), out.end());
  packs = std::move(in);
}

}  // namespace omnibal::steps
