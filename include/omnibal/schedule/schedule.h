// SPDX-License-Identifier: Apache-2.0
//
// Schedule: what every pipeline rank does, in order, as plain data. The simulator and the trainer
// execute the same lists.
//
//   OMNIBAL_ASSIGN(Schedule s, make_schedule(ScheduleKind::kOneFOneB, 4, 32));
//   OMNIBAL_RETURN_IF_ERROR(validate(s));
//   to_text(s.ranks[2]);    // "2F0 2F1 2B0 2F2 2B1 ..."
//   const Schedule with_transfers = lower(s);
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/base/strong_index.h"

namespace omnibal::schedule {

enum class ScheduleKind { kGPipe, kOneFOneB };

std::string_view to_string(ScheduleKind kind);  // "gpipe", "1f1b"
Result<ScheduleKind> parse_schedule_kind(std::string_view text);

enum class ActionKind : std::uint8_t {
  kForward,            // F
  kBackward,           // B: input gradient, and weight gradient unless the schedule has W
  kWeightGrad,         // W
  kSendActivation,     // SF: to stage + 1
  kReceiveActivation,  // RF: from stage - 1
  kSendGradient,       // SB: to stage - 1
  kReceiveGradient     // RB: from stage + 1
};

struct Action {
  ActionKind kind = ActionKind::kForward;
  StageIndex stage;  // that computes, sends or receives
  MicroBatchIndex micro_batch;

  friend bool operator==(const Action&, const Action&) = default;
};

struct Schedule {
  ScheduleKind kind = ScheduleKind::kOneFOneB;
  std::int32_t num_stages = 0;
  std::int32_t num_micro_batches = 0;
  std::vector<RankIndex> stage_rank;       // [num_stages]: which rank runs a stage
  std::vector<std::vector<Action>> ranks;  // actions of each rank in order
};

/// Compute actions only. Error: kInvalidArgument (no stages, no micro-batches).
Result<Schedule> make_schedule(ScheduleKind kind, std::int32_t num_stages,
                               std::int32_t num_micro_batches);

/// Adds sends and receives between stages on different ranks: receives before the action that
/// needs them, sends after the one that produces.
Schedule lower(const Schedule& compute);

/// Every micro-batch once forward and once backward on every stage, in a feasible order; sends
/// and receives match; executing the lists cannot deadlock. Error: kInternal with the first
/// violation. O(actions).
Status validate(const Schedule& schedule);

/// Most micro-batches that stage `stage` holds between forward and backward, by replaying the
/// list.
std::int64_t in_flight(const Schedule& schedule, StageIndex stage);

/// "2F0": stage 2, forward, micro-batch 0.
std::string to_text(const Action& action);
std::string to_text(std::span<const Action> actions);
Result<Action> parse_action(std::string_view text);

}  // namespace omnibal::schedule
