// SPDX-License-Identifier: Apache-2.0
//
// The order of the micro-batches inside a step: light ones at both ends, because a pipeline fills
// and drains through those.
//
//   light_ends(std::vector{5.0, 1.0, 4.0, 2.0});      // {1, 2, 0, 3}: 1, 4, 5, 2 seconds
//   put_light_ends_outside(packs_of_a_step, dp, loads, forward);
//
// Not for what a step holds, nor for orders found by simulation: those are in the plan's steps.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/steps/step_table.h"

namespace omnibal::steps {

/// "as-dealt", "light-ends".
std::string_view to_string(RowOrder order);
/// Error: kInvalidArgument, naming the orders there are.
Result<RowOrder> parse_row_order(std::string_view name);

/// Which entry comes at which place: the lightest first, the next last, the third second, and so
/// on to the heaviest in the middle. Equal ones in their order. O(n log n).
std::vector<std::int32_t> light_ends(std::span<const double> seconds);

/// Rows of dp packs in the order of light_ends, by what `forward` predicts for the packs of a row
/// together. Rows from the first that holds a zero-weight pack on stay where they are.
void put_light_ends_outside(std::span<std::int64_t> packs, std::int64_t dp,
                            std::span<const metrics::PackLoad> loads,
                            const cost::LinearCost& forward);

}  // namespace omnibal::steps
