// SPDX-License-Identifier: Apache-2.0
//
// A small stream: options of small windows, and samples for them.
#pragma once

#include <vector>

#include "omnibal/base/philox.h"
#include "omnibal/plan/stream.h"

namespace omnibal::plan {

inline constexpr cost::LinearCost kForward{.per_vision_unit = 0.07, .per_token = 2e-4};

inline StreamOptions small_options() {
  StreamOptions options;
  options.packing = {
      .limits = pack::PackLimits::with_paper_floors(9, 4096), .window_samples = 60, .seed = 4};
  options.steps = {.dp = 2, .micro_batches = 3, .window = 6, .seed = 4, .forward = kForward};
  return options;
}

/// Some above a cap, some without tokens, some without vision units.
inline std::vector<pack::StreamSample> random_samples(std::int64_t count, std::uint64_t seed = 1) {
  PhiloxRng rng(seed, RngStream::kTest);
  std::vector<pack::StreamSample> samples;
  for (std::int64_t id = 0; id < count; ++id) {
    samples.push_back({id, rng.below(8) == 0 ? 0 : 1 + rng.below(5), rng.below(2500)});
    if (rng.below(50) == 0) samples.back().tokens = 5000;
  }
  return samples;
}

}  // namespace omnibal::plan
