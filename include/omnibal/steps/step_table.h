// SPDX-License-Identifier: Apache-2.0
//
// StepTable: which pack each data-parallel rank runs in each micro-batch of each step. Every rank
// has the same count by construction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/metrics/loads.h"

namespace omnibal::steps {

inline constexpr std::int64_t kZeroWeightPack = -1;

struct StepTable {
  std::int64_t num_steps = 0;
  std::int64_t micro_batches = 0;
  std::int64_t dp = 0;
  std::vector<std::int64_t> pack_ids;  // [num_steps, micro_batches, dp]; -1: zero-weight pack
  std::int64_t zero_weight_packs = 0;
  std::int64_t dropped_packs = 0;
  std::int64_t repeated_packs = 0;

  std::int64_t at(std::int64_t step, std::int64_t micro_batch, std::int64_t rank) const {
    return pack_ids[static_cast<std::size_t>((step * micro_batches + micro_batch) * dp + rank)];
  }
};

/// What fills the last step when the packs do not.
enum class Tail { kZeroWeight, kDrop, kRepeat };

struct StepOptions {
  std::int64_t dp = 8;
  std::int64_t micro_batches = 1;
  std::int64_t window = 512;  // groups of dp packs that are sorted together; 0: whole epoch
  Tail tail = Tail::kZeroWeight;
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
};

/// Groups of `dp` packs alike in vision units, tokens and attention, formed inside shuffled
/// windows, dealt to the steps in random order. O(packs log window). Error: kInvalidArgument.
Result<StepTable> form_steps(std::span<const metrics::PackLoad> loads, const StepOptions& options);

/// Packs in random order dealt to the ranks: what the paper does with ISF packs.
Result<StepTable> deal_randomly(std::int64_t num_packs, const StepOptions& options);

}  // namespace omnibal::steps
