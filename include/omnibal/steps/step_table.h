// SPDX-License-Identifier: Apache-2.0
//
// StepTable: which pack each data-parallel rank runs in each micro-batch of each step. Every rank
// has the same count by construction.
//
//   OMNIBAL_ASSIGN(const StepTable table, form_steps(loads, {.dp = 8, .micro_batches = 32}));
//   table.at(step, micro_batch, rank);      // a pack id, or kZeroWeightPack
//
// Not for what is inside a pack: packs do not change with dp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/cost/profile.h"
#include "omnibal/metrics/balance.h"
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
  // Which packs the tail policy touches. Those left out stand in groups of dp, the incomplete one
  // last; those that run again in the order of their second run.
  std::vector<std::int64_t> dropped, repeated;
  std::vector<std::int64_t> incomplete;  // packs whose groups are filled up with zero-weight packs

  std::int64_t at(std::int64_t step, std::int64_t micro_batch, std::int64_t rank) const {
    return pack_ids[static_cast<std::size_t>((step * micro_batches + micro_batch) * dp + rank)];
  }
  /// Rows of packs that the ranks run at the same time.
  metrics::RankGrid grid() const { return {pack_ids, dp}; }
};

/// What fills the last step when the packs do not: packs of no weight at its end, nothing (the
/// packs that do not fill a step are left out), or packs that run again.
enum class Tail { kZeroWeight, kDrop, kRepeat };

/// "zero-weight", "drop", "repeat".
std::string_view to_string(Tail tail);
/// Error: kInvalidArgument, naming the policies there are.
Result<Tail> parse_tail(std::string_view name);

/// In which order the micro-batches of a step run where no simulation has chosen one: at random, or
/// the light ones at both ends (row_order.h).
enum class RowOrder { kAsDealt, kLightEnds };

struct StepOptions {
  std::int64_t dp = 8;
  std::int64_t micro_batches = 1;
  std::int64_t window = 512;  // groups of dp packs that may wait for their like; 0: all
  Tail tail = Tail::kZeroWeight;
  std::uint64_t seed = 0;
  cost::LinearCost forward = {};  // predicts a pack's time; zero: it does not count
  std::optional<std::int64_t> first_pack = std::nullopt;  // its group runs first of all
  RowOrder row_order = RowOrder::kAsDealt;                // of steps that StepReader deals anew
};

/// Largest dp * micro_batches accepted.
inline constexpr std::int64_t kLargestStep = std::int64_t{1} << 24;

/// kInvalidArgument: a size below 1, a window below 0, more than kLargestStep packs a step.
Status check_step_options(const StepOptions& options);

/// Groups of `dp` packs alike in vision units, tokens, attention and predicted time, dealt to the
/// steps in random order (docs/methods/steps.md). Packs of different vision units meet only in the
/// groups of what the classes have beyond a multiple of dp; packs without any meet others in one
/// group at most, and in none where zero-weight packs can take their place. `first_pack` is not
/// moved out of an incomplete group. O(packs log packs). Beside the table 24 bytes a pack, and
/// another 60 for each that its class has beyond a multiple of dp.
/// Errors: as check_step_options; kNothingUsable (no pack, or Tail::kDrop with less than one
/// step).
Result<StepTable> form_steps(std::span<const metrics::PackLoad> loads, const StepOptions& options);

/// Packs in random order dealt to the ranks: what the paper does with ISF packs. Same errors.
Result<StepTable> deal_randomly(std::int64_t num_packs, const StepOptions& options);

/// Rows of dp packs as a method has dealt them; packs that are in no row follow in order of id.
/// Same errors.
Result<StepTable> steps_from_grid(std::span<const std::int64_t> grid, std::int64_t num_packs,
                                  const StepOptions& options);

}  // namespace omnibal::steps
