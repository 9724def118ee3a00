// SPDX-License-Identifier: Apache-2.0
//
// How much a supervised token counts in the loss: sum of (weight x token loss) over the sum of
// weights, both over all packs and ranks of a step.
//
//   token_weight(LossMode::kToken, 40);        // 1: long answers count more
//   token_weight(LossMode::kSample, 40);       // 1 / 40: every sample counts the same
//   token_weight(LossMode::kSquareRoot, 40);   // 1 / sqrt(40): between the two, as InternVL
//
// Not a mean over packs: how samples are packed does not change the loss.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "omnibal/base/name_table.h"

namespace omnibal::runtime {

enum class LossMode { kToken, kSample, kSquareRoot };

inline constexpr std::array kLossModes = {
    Named{LossMode::kToken, "token"},
    Named{LossMode::kSample, "sample"},
    Named{LossMode::kSquareRoot, "square-root"},
};

/// `num_supervised`: of the token's sample, at least 1.
inline double token_weight(LossMode mode, std::int64_t num_supervised) {
  const auto count = static_cast<double>(num_supervised);
  switch (mode) {
    case LossMode::kToken:
      return 1.0;
    case LossMode::kSample:
      return 1.0 / count;
    case LossMode::kSquareRoot:
      return 1.0 / std::sqrt(count);
  }
  return 1.0;
}

}  // namespace omnibal::runtime
