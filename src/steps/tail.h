// SPDX-License-Identifier: Apache-2.0
//
// The tail policy, shared by all ways to deal packs: what happens to the packs that do not fill a
// step. Inside room steps only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/steps/step_table.h"

namespace omnibal::steps {

/// Checks the options and that there is something to deal; returns an empty table of these sizes.
Result<StepTable> start_table(std::int64_t num_packs, const StepOptions& options);

/// Ids 0 .. num_packs - 1 in the epoch's random order.
std::vector<std::int64_t> shuffled_packs(std::int64_t num_packs, const StepOptions& options);

/// kDrop: cuts `order` to whole steps; kRepeat: appends its first packs again; counted in `table`.
void apply_tail(Tail tail, std::vector<std::int64_t>& order, StepTable& table);

/// Moves `order` into the table, row by row, zero-weight packs behind it up to a whole step.
void fill_table(std::vector<std::int64_t> order, StepTable& table);

}  // namespace omnibal::steps
