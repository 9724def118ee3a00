// SPDX-License-Identifier: Apache-2.0
//
// Loads of groups of samples: pure functions over the result of a packing.
//
// A group is a pack (its samples stand one behind the other, attention inside each) or a padded
// micro-batch (every sample padded to the longest).
//
//   const GroupView groups{packs.offsets, packs.samples};
//   const std::vector<PackLoad> loads = packed_loads(groups, {corpus.vision, corpus.tokens});
//   forward_s.at(to_load(loads[7]));      // predicted seconds of pack 7
//
// Not for caps and fill: occupancy.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "omnibal/cost/profile.h"

namespace omnibal::metrics {

/// Groups of samples in compressed rows: group g holds members[offsets[g] .. offsets[g + 1]).
struct GroupView {
  std::span<const std::int64_t> offsets;   // [groups + 1]
  std::span<const std::uint32_t> members;  // corpus indices

  std::int64_t size() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  std::span<const std::uint32_t> operator[](std::int64_t group) const {
    return members.subspan(static_cast<std::size_t>(offsets[group]),
                           static_cast<std::size_t>(offsets[group + 1] - offsets[group]));
  }
};

/// Columns of a corpus: index = corpus index.
struct SampleColumns {
  std::span<const std::uint32_t> vision;
  std::span<const std::uint32_t> tokens;
};

struct PackLoad {
  std::int64_t vision_units = 0;
  std::int64_t tokens = 0;
  std::int64_t token_pairs = 0;  // sum of squared segment lengths

  friend bool operator==(const PackLoad&, const PackLoad&) = default;
};

/// The load as costs take it.
inline cost::Load to_load(const PackLoad& load) {
  return {static_cast<double>(load.vision_units), static_cast<double>(load.tokens),
          static_cast<double>(load.token_pairs)};
}

/// Sums over each group. O(members).
std::vector<PackLoad> packed_loads(const GroupView& groups, const SampleColumns& samples);

/// As a padded micro-batch computes: B * t_max tokens, B * t_max^2 pairs.
std::vector<PackLoad> padded_loads(const GroupView& groups, const SampleColumns& samples);

/// The largest of each part. O(loads).
cost::Load largest_load(std::span<const PackLoad> loads);
/// There must be one. O(loads).
cost::Load mean_load(std::span<const PackLoad> loads);

}  // namespace omnibal::metrics
