// SPDX-License-Identifier: Apache-2.0
//
// Schedule: what every pipeline rank does, in order, as plain data. The simulator and the trainer
// execute the same lists.
//
//   OMNIBAL_ASSIGN(Schedule s, make_schedule(ScheduleKind::kOneFOneB, 4, 32));
//   OMNIBAL_RETURN_IF_ERROR(validate(s));
//   to_text(s.ranks[2]);    // "2F0 2F1 2B0 2F2 2B1 ..."
//   const Schedule with_transfers = lower(s);
//
// Not for times: those stand in simulate::PipelineTimes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/base/strong_index.h"

namespace omnibal::schedule {

enum class ScheduleKind {
  kGPipe,    // all forwards, then all backwards, both in the order of the micro-batches
  kOneFOneB  // PipeDream-Flush: stage s of p runs p - 1 - s forwards ahead, then alternates
};

std::string_view to_string(ScheduleKind kind);  // "gpipe", "1f1b"
/// Error: kInvalidArgument, naming the kinds there are.
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
inline constexpr int kNumActionKinds = 7;

/// F, B and W occupy the rank; the others move a tensor.
constexpr bool is_compute(ActionKind kind) { return kind <= ActionKind::kWeightGrad; }

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

/// Most compute actions of a schedule: 128 stages with 16,384 micro-batches. Checking, compiling
/// and simulating one needs about 40 bytes an action.
inline constexpr std::int64_t kMaxActions = std::int64_t{1} << 22;

/// Compute actions only; stage s on rank s. O(stages x micro-batches). Error: kInvalidArgument (no
/// stages, no micro-batches, more than kMaxActions).
Result<Schedule> make_schedule(ScheduleKind kind, std::int32_t num_stages,
                               std::int32_t num_micro_batches);

/// Adds sends and receives between stages on different ranks: a receive directly before the action
/// that needs it, a send directly after the one that produces. Sends do not wait for the receiver.
Schedule lower(const Schedule& compute);

/// Every micro-batch once forward and once backward (and, if there is any W, once W) on every
/// stage, on the stage's rank; with transfers, each exactly once on both sides; executing the lists
/// (sends do not wait, receives do) comes to an end. Error: kInternal with the first violation.
/// O(actions).
Status validate(const Schedule& schedule);

/// An order of all actions in which each stands behind whatever it waits for: ranks take turns, a
/// rank runs until it has to wait. Positions are (rank, index into its list). Fewer entries than
/// actions: the rest waits for ever. Needs indices in range. O(actions).
struct ActionPosition {
  std::int32_t rank = 0;
  std::int32_t index = 0;
};
std::vector<ActionPosition> execution_order(const Schedule& schedule);

/// Most micro-batches that stage `stage` holds between forward and backward, by replaying the
/// list.
std::int64_t in_flight(const Schedule& schedule, StageIndex stage);
/// in_flight of every stage.
std::vector<std::int64_t> in_flight(const Schedule& schedule);

/// "2F0": stage 2, forward, micro-batch 0.
std::string to_text(const Action& action);
/// Separated by single spaces.
std::string to_text(std::span<const Action> actions);

}  // namespace omnibal::schedule
