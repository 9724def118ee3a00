// SPDX-License-Identifier: Apache-2.0
//
// Which packs leave a full window of a stream, in which groups. Inside room steps only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "omnibal/steps/stream.h"

namespace omnibal::steps {

/// Indices of packs, group by group of dp. Each vision class is grouped by itself as far as it
/// divides by dp, the newest packs of the classes that are too many together. The most alike eighth
/// of the groups leave, and those with a pack that is grouped for the last time.
/// |window| is a multiple of dp. O(n log n).
std::vector<std::uint32_t> leaving_groups(std::span<const WaitingPack> window,
                                          const StepOptions& options);

}  // namespace omnibal::steps
