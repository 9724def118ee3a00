// SPDX-License-Identifier: Apache-2.0
//
// StepLayout: the steps that a reader goes through: a table for whole epochs, and after a change of
// sizes another for what was left of the epoch in which it came. Inside room steps only.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "omnibal/steps/step_reader.h"

namespace omnibal::steps {

/// What was left of an epoch, formed anew.
struct RestOfEpoch {
  std::int64_t epoch = 0;
  std::int64_t first_step = 0;
  std::vector<std::int64_t> packs;  // those that had not run, ascending
  StepTable table;                  // of them, by pack id
};

struct StepLayout {
  StepTable formed;  // empty: the plan's own table is read
  GroupPool pool;    // of whole epochs
  std::optional<RestOfEpoch> rest;

  bool is_rest(std::int64_t epoch) const { return rest && rest->epoch == epoch; }
  std::int64_t steps_in(std::int64_t epoch) const {
    return is_rest(epoch) ? rest->first_step + rest->table.num_steps : pool.table->num_steps;
  }
  RankSizes sizes() const { return {pool.table->dp, pool.table->micro_batches}; }
};

/// The plan's own steps, then each change in turn. Errors: as StepReader::open.
Result<std::shared_ptr<const StepLayout>> layout_after(const StepSource& source,
                                                       std::span<const SizeChange> changes);

/// Packs that have not run in the epoch when `at` comes, ascending. O(packs).
std::vector<std::int64_t> not_run(const StepLayout& layout, const StepSource& source,
                                  const StepPosition& at);

/// kOutOfRange, if the layout has no such place. One behind an epoch's last step is none.
Status check_position(const StepLayout& layout, const StepPosition& at);

}  // namespace omnibal::steps
