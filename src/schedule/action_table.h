// SPDX-License-Identifier: Apache-2.0
//
// ActionTable: one byte for every possible action of a schedule: what has been seen or done.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "omnibal/schedule/schedule.h"

namespace omnibal::schedule {

class ActionTable {
 public:
  explicit ActionTable(const Schedule& schedule)
      : num_stages_(static_cast<std::size_t>(schedule.num_stages)),
        num_micro_batches_(static_cast<std::size_t>(schedule.num_micro_batches)),
        marks_(kNumActionKinds * num_stages_ * num_micro_batches_, 0) {}

  std::uint8_t& operator[](const Action& action) { return marks_[index(action)]; }
  std::uint8_t operator[](const Action& action) const { return marks_[index(action)]; }

 private:
  std::size_t index(const Action& action) const {
    const auto kind = static_cast<std::size_t>(action.kind);
    const auto stage = static_cast<std::size_t>(action.stage.value());
    return (kind * num_stages_ + stage) * num_micro_batches_ +
           static_cast<std::size_t>(action.micro_batch.value());
  }
  std::size_t num_stages_;
  std::size_t num_micro_batches_;
  std::vector<std::uint8_t> marks_;
};

/// The one action of another place that `action` cannot start without, if there is any. Without
/// transfers in the lists (`lowered` false) an action waits for its neighbour's result itself.
std::optional<Action> waits_for(const Schedule& schedule, const Action& action, bool lowered);

bool has_transfers(const Schedule& schedule);

}  // namespace omnibal::schedule
