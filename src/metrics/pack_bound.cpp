// SPDX-License-Identifier: Apache-2.0
#include "omnibal/metrics/pack_bound.h"

#include <algorithm>
#include <vector>

#include "metrics/matching_bound.h"
#include "metrics/weight_bound.h"
#include "omnibal/metrics/size_levels.h"

namespace omnibal::metrics {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::vector<std::int64_t> histogram(std::span<const std::uint32_t> lengths,
                                    std::span<const std::uint32_t> members) {
  std::vector<std::int64_t> counts(1);
  for (const std::uint32_t i : members) {
    if (lengths[i] >= counts.size()) counts.resize(std::size_t{lengths[i]} + 1);
    ++counts[lengths[i]];
  }
  return counts;
}

/// Martello and Toth's L2 = max over k of L(k). With items above half the cap alone in their pack,
/// the small ones (length in [k, cap / 2]) go beside the medium ones (in (cap / 2, cap - k]) or
/// into packs of their own; what is above cap - k takes no item of length k or more.
std::int64_t one_resource_bound(const std::vector<std::int64_t>& counts, std::int64_t cap) {
  const auto largest = static_cast<std::int64_t>(counts.size()) - 1;
  const auto count_at = [&](std::int64_t length) {
    return length <= largest ? counts[static_cast<std::size_t>(length)] : 0;
  };
  const std::int64_t half = cap / 2;
  std::int64_t num_above_half = 0;
  std::int64_t medium_total = 0;
  std::int64_t medium_count = 0;
  for (std::int64_t length = half + 1; length <= largest; ++length) {
    num_above_half += count_at(length);
  }
  // From k = half (no medium item unless the cap is odd) down to 0.
  for (std::int64_t length = half + 1; length <= cap - half; ++length) {
    medium_count += count_at(length);
    medium_total += length * count_at(length);
  }
  std::int64_t small_total = 0;
  std::int64_t bound = num_above_half;
  for (std::int64_t k = half; k >= 0; --k) {
    small_total += k * count_at(k);
    const std::int64_t beside_medium = medium_count * cap - medium_total;
    const std::int64_t overflow = std::max<std::int64_t>(0, small_total - beside_medium);
    bound = std::max(bound, num_above_half + ceil_div(overflow, cap));
    const std::int64_t next = cap - k + 1;
    medium_count += count_at(next);
    medium_total += next * count_at(next);
  }
  return bound;
}

/// Samples by size, and caps, in the same steps.
struct SizeTable {
  std::vector<SizedCount> sizes;
  PackCaps caps;
};

/// Lengths as they are. O(n log n).
SizeTable exact_sizes(const SampleColumns& samples, std::span<const std::uint32_t> members,
                      const PackCaps& caps) {
  SizeTable table{{}, caps};
  for (const std::uint32_t i : members) {
    table.sizes.push_back({samples.vision[i], samples.tokens[i], 1, 0});
  }
  std::sort(table.sizes.begin(), table.sizes.end(), [](const SizedCount& a, const SizedCount& b) {
    return a.vision != b.vision ? a.vision < b.vision : a.tokens < b.tokens;
  });
  std::size_t last = 0;
  for (std::size_t i = 1; i < table.sizes.size(); ++i) {
    SizedCount& kept = table.sizes[last];
    if (kept.vision == table.sizes[i].vision && kept.tokens == table.sizes[i].tokens) {
      ++kept.count;
    } else {
      table.sizes[++last] = table.sizes[i];
    }
  }
  table.sizes.resize(last + 1);
  return table;
}

/// Lengths in steps of a power of two, rounded down, so that a table of all is small. The caps are
/// rounded alike: what fits in a pack still fits. O(n).
SizeTable rounded_sizes(const SampleColumns& samples, std::span<const std::uint32_t> members,
                        const PackCaps& caps) {
  constexpr std::int64_t kMostEntries = std::int64_t{1} << 20;
  int vision_shift = 0;
  int token_shift = 0;
  const auto rows = [&] { return (caps.vision_units >> vision_shift) + 1; };
  const auto columns = [&] { return (caps.tokens >> token_shift) + 1; };
  while (rows() * columns() > kMostEntries) ++(rows() > columns() ? vision_shift : token_shift);
  const auto width = static_cast<std::size_t>(columns());
  std::vector<std::int64_t> counts(static_cast<std::size_t>(rows()) * width);
  for (const std::uint32_t i : members) {
    ++counts[(samples.vision[i] >> vision_shift) * width + (samples.tokens[i] >> token_shift)];
  }
  SizeTable table{{}, {rows() - 1, columns() - 1, caps.samples}};
  for (std::size_t entry = 0; entry < counts.size(); ++entry) {
    if (counts[entry] == 0) continue;
    table.sizes.push_back({static_cast<std::uint32_t>(entry / width),
                           static_cast<std::uint32_t>(entry % width), counts[entry], 0});
  }
  return table;
}

}  // namespace

std::int64_t pack_lower_bound(const SampleColumns& samples, std::span<const std::uint32_t> members,
                              const PackCaps& caps) {
  if (members.empty()) return 0;
  std::int64_t bound = 1;
  if (caps.samples > 0) {
    bound = std::max(bound, ceil_div(static_cast<std::int64_t>(members.size()), caps.samples));
  }
  bound =
      std::max(bound, one_resource_bound(histogram(samples.vision, members), caps.vision_units));
  bound = std::max(bound, one_resource_bound(histogram(samples.tokens, members), caps.tokens));
  constexpr std::size_t kFew = std::size_t{1} << 17;
  SizeTable table = members.size() <= kFew ? exact_sizes(samples, members, caps)
                                           : rounded_sizes(samples, members, caps);
  bound = std::max(bound, matching_bound(table.sizes, table.caps));
  return std::max(bound, weight_bound(table.sizes, table.caps));
}

}  // namespace omnibal::metrics
