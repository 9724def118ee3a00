// SPDX-License-Identifier: Apache-2.0
//
// StepReader: reads a plan's steps from any place of any epoch, on the ranks that there are, and
// says where it stands, so that a run can stop anywhere and go on exactly there.
//
//   OMNIBAL_ASSIGN(StepReader reader, StepReader::open(source, cursor));
//   const std::vector<std::int64_t> packs = reader.packs();   // [micro_batches, dp]
//   reader.advance();
//   reader.cursor();                                          // keep it with the checkpoint
//
// Not for files: plan/cursor.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/steps/epoch_order.h"
#include "omnibal/steps/step_table.h"

namespace omnibal::steps {

/// A step that has not run yet; all before it have.
struct StepPosition {
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  friend auto operator<=>(const StepPosition&, const StepPosition&) = default;
};

struct RankSizes {
  std::int64_t dp = 1;
  std::int64_t micro_batches = 1;
  friend bool operator==(const RankSizes&, const RankSizes&) = default;
};

/// From `at` on, steps are formed for other sizes: the packs of the running epoch that had not
/// run, then those of every later epoch.
struct SizeChange {
  StepPosition at;
  RankSizes sizes;
  friend bool operator==(const SizeChange&, const SizeChange&) = default;
};

/// Where a run stands. `ranks` are the sizes of the last change (of the plan, if there is none) or
/// split them: a divisor of dp with as many more micro-batches runs the same groups.
struct StepCursor {
  StepPosition at;
  RankSizes ranks;
  std::vector<SizeChange> changes;
  friend bool operator==(const StepCursor&, const StepCursor&) = default;
};

/// What a plan says about its steps; all of it must outlive a reader.
struct StepSource {
  const StepTable* table = nullptr;
  std::span<const metrics::PackLoad> loads;
  StepOptions options;  // what formed the table, and forms other sizes alike
};

/// The cursor of a run that begins.
StepCursor first_step(const StepSource& source);

struct StepLayout;

class StepReader {
 public:
  /// A cursor at the end of an epoch opens the next. O(packs) whatever the place; a change of
  /// sizes costs a form_steps each. Errors: kInvalidPlan; kOutOfRange (a place or sizes that the
  /// plan does not have); those of form_steps.
  static Result<StepReader> open(const StepSource& source, const StepCursor& cursor);

  /// The same place on other ranks: where they split the sizes that steps are formed for, every
  /// step keeps its packs; otherwise what has not run is formed anew.
  Result<StepReader> on_ranks(const RankSizes& ranks) const;

  /// The packs of the current step, [micro_batches, dp]: in epoch 0 as the plan has them, later in
  /// the order that options.row_order says. O(packs of a step).
  std::vector<std::int64_t> packs() const;
  /// To the next step; behind the last one of an epoch, to the first of the next.
  void advance();

  const StepCursor& cursor() const { return cursor_; }
  std::int64_t steps_in_epoch() const;
  /// From here to the end of epoch `num_epochs` - 1; 0 behind it.
  std::int64_t steps_left(std::int64_t num_epochs) const;

 private:
  StepReader(const StepSource& source, StepCursor cursor, std::shared_ptr<const StepLayout> layout);
  void enter_epoch();
  std::vector<std::int64_t> dealt_packs() const;

  StepSource source_;
  StepCursor cursor_;
  std::shared_ptr<const StepLayout> layout_;
  std::optional<EpochOrder> order_;  // of the running epoch
};

}  // namespace omnibal::steps
