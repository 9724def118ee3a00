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

using PackIds = std::vector<std::int64_t>;

/// Packs as groups, before they are rows of a table.
struct FormedGroups {
  PackIds complete;  // [groups, dp]; the last group is the one most like `incomplete`
  PackIds idle;      // fewer than dp packs without vision units
  PackIds rest;      // fewer than dp packs
};

/// Checks the options and that there is something to deal; returns an empty table of these sizes.
Result<StepTable> start_table(std::int64_t num_packs, const StepOptions& options);

/// Ids 0 .. num_packs - 1 in random order.
std::vector<std::uint32_t> shuffled_packs(std::int64_t num_packs, const StepOptions& options);

/// Makes the groups that packs outside complete ones form: `idle` apart from `rest` with
/// zero-weight packs, else together.
void close_groups(FormedGroups& groups, const StepOptions& options);

/// Swaps the group of `options.first_pack` with the first one; not out of an incomplete group.
void put_first(FormedGroups& groups, const StepOptions& options);

/// Fills the table from closed groups in the order in which they are, by the tail policy.
void lay_out(FormedGroups groups, Tail tail, StepTable& table);

}  // namespace omnibal::steps
