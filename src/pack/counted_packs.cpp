// SPDX-License-Identifier: Apache-2.0
#include "pack/counted_packs.h"

#include <algorithm>

#include "omnibal/base/philox.h"

namespace omnibal::pack {
namespace {

/// The group of each pack, in the order of the result.
std::vector<std::uint32_t> order_of_groups(const CountedPacks& packs, std::uint64_t seed) {
  constexpr std::uint32_t kSubstream = UINT32_MAX;  // no round of ISF has this number
  std::vector<std::uint32_t> order;
  order.reserve(static_cast<std::size_t>(packs.size()));
  for (std::uint32_t g = 0; g < packs.groups.size(); ++g) {
    order.insert(order.end(), static_cast<std::size_t>(packs.groups[g].count), g);
  }
  PhiloxRng rng(seed, RngStream::kPackShuffle, kSubstream);
  shuffle(std::span(order), rng);
  return order;
}

template <class Visit>
void for_each_member(const CountedPacks& packs, const PackGroup& group, Visit visit) {
  for (std::uint32_t m = group.members; m != kNoMember; m = packs.members[m].previous) {
    visit(packs.members[m]);
  }
}

}  // namespace

std::int64_t CountedPacks::size() const {
  std::int64_t total = 0;
  for (const PackGroup& group : groups) total += group.count;
  return total;
}

PackGroup CountedPacks::grown(const PackGroup& group, std::int64_t count,
                              const SampleClasses& classes, std::size_t c, std::int64_t copies) {
  const auto more = static_cast<std::uint32_t>(copies);
  members.push_back({group.members, static_cast<std::uint32_t>(c), more});
  return {.count = count,
          .members = static_cast<std::uint32_t>(members.size() - 1),
          .vision = group.vision + more * classes.vision[c],
          .tokens = group.tokens + more * classes.tokens[c],
          .samples = group.samples + more};
}

std::int64_t CountedPacks::fill(std::size_t g, const metrics::PackCaps& caps,
                                const SampleClasses& classes, std::size_t c, std::int64_t count) {
  const PackGroup before = groups[g];
  const std::int64_t each = room_for(before, caps, classes, c, count);
  const std::int64_t filled = std::min(before.count, count / each);
  const std::int64_t rest = before.count > filled ? count % each : 0;
  groups[g] = grown(before, filled, classes, c, each);
  if (rest > 0) groups.push_back(grown(before, 1, classes, c, rest));
  const std::int64_t untouched = before.count - filled - (rest > 0 ? 1 : 0);
  if (untouched > 0) {
    groups.push_back(before);
    groups.back().count = untouched;
  }
  return filled * each + rest;
}

std::size_t CountedPacks::open(const metrics::PackCaps& caps, const SampleClasses& classes,
                               std::size_t c, std::int64_t count) {
  const std::int64_t each = room_for({}, caps, classes, c, count);
  groups.push_back({.count = (count + each - 1) / each});
  return groups.size() - 1;
}

std::int64_t room_for(const PackGroup& group, const metrics::PackCaps& caps,
                      const SampleClasses& classes, std::size_t c, std::int64_t most) {
  std::int64_t room = most;
  if (classes.vision[c] > 0) {
    room = std::min(room, (caps.vision_units - group.vision) / classes.vision[c]);
  }
  if (classes.tokens[c] > 0)
    room = std::min(room, (caps.tokens - group.tokens) / classes.tokens[c]);
  if (caps.samples > 0) room = std::min(room, caps.samples - group.samples);
  return room;
}

Packs expand(const CountedPacks& packs, const SampleClasses& classes, std::uint64_t seed) {
  std::vector<std::int64_t> next(classes.offsets.begin(), classes.offsets.end() - 1);
  const std::vector<std::uint32_t> order = order_of_groups(packs, seed);
  Packs result;
  result.samples.reserve(classes.samples.size());
  result.offsets.reserve(order.size() + 1);
  for (const std::uint32_t g : order) {
    for_each_member(packs, packs.groups[g], [&](const PackMember& member) {
      const auto first = classes.samples.begin() + next[member.sample_class];
      result.samples.insert(result.samples.end(), first, first + member.copies);
      next[member.sample_class] += member.copies;
    });
    result.offsets.push_back(static_cast<std::int64_t>(result.samples.size()));
  }
  return result;
}

std::vector<metrics::PackLoad> expanded_loads(const CountedPacks& packs,
                                              const SampleClasses& classes, std::uint64_t seed) {
  std::vector<metrics::PackLoad> of_group;
  of_group.reserve(packs.groups.size());
  for (const PackGroup& group : packs.groups) {
    metrics::PackLoad load{group.vision, group.tokens, 0};
    for_each_member(packs, group, [&](const PackMember& member) {
      const auto length = std::int64_t{classes.tokens[member.sample_class]};
      load.token_pairs += member.copies * length * length;
    });
    of_group.push_back(load);
  }
  std::vector<metrics::PackLoad> loads;
  const std::vector<std::uint32_t> order = order_of_groups(packs, seed);
  loads.reserve(order.size());
  for (const std::uint32_t g : order) loads.push_back(of_group[g]);
  return loads;
}

}  // namespace omnibal::pack
