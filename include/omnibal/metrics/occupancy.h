// SPDX-License-Identifier: Apache-2.0
//
// How full packs are, and whether any is fuller than allowed.
//
//   const PackCaps caps{.vision_units = 9, .tokens = 4096};
//   fill(loads, caps).tokens;          // 0.93
//   count_over_cap(loads, caps);       // 0
//
// Not for the caps as a user gives them (pack/packs.h): here they are plain numbers.
#pragma once

#include <cstdint>
#include <span>

#include "omnibal/metrics/loads.h"

namespace omnibal::metrics {

/// Hard limits of one pack.
struct PackCaps {
  std::int64_t vision_units = 0;
  std::int64_t tokens = 0;
  std::int64_t samples = 0;  // 0: any number
};

/// Used over allowed, of all packs together.
struct Fill {
  double vision = 0;
  double tokens = 0;
};
Fill fill(std::span<const PackLoad> loads, const PackCaps& caps);

/// Packs above the vision or the token cap.
std::int64_t count_over_cap(std::span<const PackLoad> loads, const PackCaps& caps);

/// Samples of the packs that `pack_ids` (negative: none) names more than once, counted once for
/// every further time: what a tail policy runs again.
std::int64_t count_repeated_samples(std::span<const std::int64_t> pack_ids,
                                    const GroupView& groups);

}  // namespace omnibal::metrics
