// SPDX-License-Identifier: Apache-2.0
//
// Packs on counts: packs of the same content are one group with a count.
//
//   CountedPacks packs;
//   packs.groups.push_back({.count = 100, .members = packs.add(kNoMember, c, 2), ...});
//   Packs result = expand(packs, classes, seed);     // 100 packs of two samples of class c
//
// Not for reading by others: Packs (packs.h) are what a packer returns.
#pragma once

#include <cstdint>
#include <vector>

#include "omnibal/metrics/occupancy.h"
#include "omnibal/pack/packs.h"
#include "pack/sample_classes.h"

namespace omnibal::pack {

/// `copies` samples of a class in every pack of a group, and what else there is, as a list from
/// the last added to the first. Groups that grew out of one share its list.
struct PackMember {
  std::uint32_t previous;
  std::uint32_t sample_class;
  std::uint32_t copies;
};
inline constexpr std::uint32_t kNoMember = UINT32_MAX;

struct PackGroup {
  std::int64_t count = 0;  // packs
  std::uint32_t members = kNoMember;
  std::uint32_t vision = 0;  // used in each pack
  std::uint32_t tokens = 0;
  std::uint32_t samples = 0;
};

struct CountedPacks {
  std::vector<PackMember> members;
  std::vector<PackGroup> groups;

  std::int64_t size() const;
  /// What `count` packs of `group` become with `copies` samples of class `c` more in each.
  PackGroup grown(const PackGroup& group, std::int64_t count, const SampleClasses& classes,
                  std::size_t c, std::int64_t copies);
  /// Puts up to `count` samples of class `c`, of which each pack of group `g` takes at least one,
  /// into these packs one after the other, each as far as it goes. Returns how many found room.
  /// Group g then is the packs filled; appended are the pack that took what was left of `count`, if
  /// any, and the packs that took none, if any.
  std::int64_t fill(std::size_t g, const metrics::PackCaps& caps, const SampleClasses& classes,
                    std::size_t c, std::int64_t count);
  /// As many empty packs as `count` samples of class `c` alone need, as a group; its number.
  std::size_t open(const metrics::PackCaps& caps, const SampleClasses& classes, std::size_t c,
                   std::int64_t count);
};

/// How many samples of class `c` a pack of the group still takes, at most `most`.
std::int64_t room_for(const PackGroup& group, const metrics::PackCaps& caps,
                      const SampleClasses& classes, std::size_t c, std::int64_t most);

/// Packs in an order that the seed decides, their samples drawn from the classes in turn.
/// O(samples); 8 bytes a pack beside the result.
Packs expand(const CountedPacks& packs, const SampleClasses& classes, std::uint64_t seed);

/// Loads of expand()'s packs, in the same order, without their samples.
std::vector<metrics::PackLoad> expanded_loads(const CountedPacks& packs,
                                              const SampleClasses& classes, std::uint64_t seed);

}  // namespace omnibal::pack
