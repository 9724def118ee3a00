// SPDX-License-Identifier: Apache-2.0
//
// What steps are formed of: a pack with its loads in 16 bytes. Inside room steps only.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "omnibal/cost/profile.h"
#include "omnibal/metrics/loads.h"

namespace omnibal::steps {

/// Vision units, tokens, token pairs. Loads above 2^24 are rounded: that decides which packs meet,
/// not what is reported.
inline constexpr std::size_t kVisionUnits = 0;
inline constexpr std::size_t kTokens = 1;
inline constexpr std::size_t kTokenPairs = 2;
inline constexpr std::size_t kNumLoads = 3;

struct LoadedPack {
  std::array<float, kNumLoads> load{};
  std::uint32_t pack = 0;
};

inline LoadedPack with_load(const metrics::PackLoad& load, std::uint32_t pack) {
  return {{static_cast<float>(load.vision_units), static_cast<float>(load.tokens),
           static_cast<float>(load.token_pairs)},
          pack};
}

/// What a rank's waiting counts: how far each load of a pack is below the largest of its group, as
/// a fraction of that, and its predicted time likewise. Vision units come in few values, so that
/// equal ones cost little; time is what a step waits for in the end.
struct LoadWeights {
  std::array<double, kNumLoads> load = {6.0, 1.0, 1.0};
  double time = 2.0;
};

/// What alikeness is judged by.
struct AlikeRule {
  cost::LinearCost forward;  // predicts the time; zero: time does not count
  LoadWeights weights;
};

}  // namespace omnibal::steps
