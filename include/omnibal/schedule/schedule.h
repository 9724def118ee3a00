// SPDX-License-Identifier: Apache-2.0
//
// Schedule: what every pipeline rank does, in order, as plain data. The simulator and the trainer
// execute the same lists.
//
//   OMNIBAL_ASSIGN(Schedule s, make_schedule(ScheduleKind::kOneFOneB, 4, 32));
//   OMNIBAL_ASSIGN(Schedule v, make_schedule(ScheduleKind::kZbV, 8, 32, {.chunks = 2}));  // 4
//   ranks OMNIBAL_RETURN_IF_ERROR(validate(s)); to_text(s.ranks[2]);    // "2F0 2F1 2B0 2F2 2B1
//   ..." const Schedule with_transfers = lower(s);
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
  kGPipe,        // all forwards, then all backwards, both in the order of the micro-batches
  kOneFOneB,     // PipeDream-Flush: stage s of p runs p - 1 - s forwards ahead, then alternates
  kInterleaved,  // Megatron-LM's 1F1B over several chunks: stage s on rank s % p
  kZbH1,         // zero bubble H1: backwards split, weight gradients fill the drain
  kZbV           // zero bubble V: backwards split, rank r runs stages r and 2 p - 1 - r
};

std::string_view to_string(ScheduleKind kind);  // "gpipe", "1f1b", "interleaved", "zb-h1", "zb-v"
std::vector<std::string> schedule_kinds();      // the names of all
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
  /// Not empty: stage 0 is spread, its micro-batch m runs on spread_ranks[m % size] (layout.h), and
  /// stage_rank[0] is the first of them.
  std::vector<RankIndex> spread_ranks = {};
};

/// The rank that runs a micro-batch of a stage.
RankIndex rank_of(const Schedule& schedule, StageIndex stage, MicroBatchIndex micro_batch);
/// All ranks that run micro-batches of a stage.
std::span<const RankIndex> ranks_of(const Schedule& schedule, StageIndex stage);

/// Most compute actions of a schedule: 128 stages with 16,384 micro-batches. Checking, compiling
/// and simulating one needs about 40 bytes an action.
inline constexpr std::int64_t kMaxActions = std::int64_t{1} << 22;

struct ScheduleOptions {
  std::int32_t chunks = 1;  // stages a rank runs: interleaved 2 or more, zb-v 2, the others 1
};
/// The fewest chunks that the kind takes.
std::int32_t fewest_chunks(ScheduleKind kind);

/// Stages that the rank of the last one runs, a spread stage aside: the schedule's chunks.
std::int32_t num_chunks(const Schedule& schedule);

/// Compute actions only; num_stages / chunks ranks. Any number of micro-batches, also fewer than
/// ranks or no multiple of them. O(stages x micro-batches). Error: kInvalidArgument (no stages, no
/// micro-batches, more than kMaxActions, chunks that the kind does not take or that do not divide
/// the stages).
Result<Schedule> make_schedule(ScheduleKind kind, std::int32_t num_stages,
                               std::int32_t num_micro_batches, const ScheduleOptions& options = {});

/// Whether backwards are split: kBackward is the input gradient alone, kWeightGrad comes later.
bool has_weight_grads(const Schedule& schedule);

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

/// Most micro-batches whose activations a rank of stage `stage` holds at once, by replaying the
/// list: from the forward to the end of the backward, of a split one to the end of the weight
/// gradient.
std::int64_t in_flight(const Schedule& schedule, StageIndex stage);
/// in_flight of every stage.
std::vector<std::int64_t> in_flight(const Schedule& schedule);
/// The same of every rank, over all its stages together: its stages are not fullest at once, so
/// that a rank may hold less than the sum over its stages.
std::vector<std::int64_t> in_flight_of_ranks(const Schedule& schedule);
/// Of every stage, most micro-batches between backward and weight gradient at once: of these a
/// layer that recomputes holds its activations again. 0 where backwards are whole.
std::vector<std::int64_t> awaiting_weight_grad(const Schedule& schedule);

/// "2F0": stage 2, forward, micro-batch 0.
std::string to_text(const Action& action);
/// Separated by single spaces.
std::string to_text(std::span<const Action> actions);

}  // namespace omnibal::schedule
