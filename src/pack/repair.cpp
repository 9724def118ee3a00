// SPDX-License-Identifier: Apache-2.0
#include "pack/repair.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "pack/pattern_counts.h"

namespace omnibal::pack {
namespace {

std::vector<std::uint32_t> emptiest_first(const CountedPacks& packs,
                                          const metrics::PackCaps& caps) {
  std::vector<double> fill;
  fill.reserve(packs.groups.size());
  for (const PackGroup& group : packs.groups) {
    fill.push_back(
        std::max(static_cast<double>(group.vision) / static_cast<double>(caps.vision_units),
                 static_cast<double>(group.tokens) / static_cast<double>(caps.tokens)));
  }
  std::vector<std::uint32_t> order(packs.groups.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&fill](std::uint32_t a, std::uint32_t b) {
    return fill[a] != fill[b] ? fill[a] < fill[b] : a < b;
  });
  return order;
}

/// Adds the group to `packs`, with no member that `packs` does not need.
void copy_group(const CountedPacks& from, PackGroup group, CountedPacks& packs) {
  std::vector<PackMember> members;
  for (std::uint32_t m = group.members; m != kNoMember; m = from.members[m].previous) {
    members.push_back(from.members[m]);
  }
  group.members = kNoMember;
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    packs.members.push_back({group.members, member->sample_class, member->copies});
    group.members = static_cast<std::uint32_t>(packs.members.size() - 1);
  }
  packs.groups.push_back(group);
}

void dissolve(const CountedPacks& packs, const PackGroup& group, ClassCounts& counts) {
  for (std::uint32_t m = group.members; m != kNoMember; m = packs.members[m].previous) {
    const PackMember& member = packs.members[m];
    counts[member.sample_class] += group.count * member.copies;
  }
}

}  // namespace

void repair(const SampleClasses& classes, const metrics::PackCaps& caps, CountedPacks& packs) {
  constexpr std::array kFractions = {0.5, 0.2, 0.1, 0.05, 0.02};
  for (const double fraction : kFractions) {
    const auto wanted = static_cast<std::int64_t>(fraction * static_cast<double>(packs.size()));
    CountedPacks repaired;
    ClassCounts counts(classes.size());
    std::int64_t dissolved = 0;
    for (const std::uint32_t g : emptiest_first(packs, caps)) {
      if (dissolved < wanted) {
        dissolve(packs, packs.groups[g], counts);
        dissolved += packs.groups[g].count;
      } else {
        copy_group(packs, packs.groups[g], repaired);
      }
    }
    place_patterns(classes, counts, caps, {}, repaired);
    if (repaired.size() < packs.size()) packs = std::move(repaired);
  }
}

}  // namespace omnibal::pack
