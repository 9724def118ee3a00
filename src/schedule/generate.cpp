// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "omnibal/base/name_table.h"
#include "omnibal/schedule/schedule.h"

namespace omnibal::schedule {
namespace {

constexpr std::array kKinds = {Named{ScheduleKind::kOneFOneB, "1f1b"},
                               Named{ScheduleKind::kGPipe, "gpipe"}};

/// How many forwards a stage runs before its first backward.
std::int32_t num_warmup(const Schedule& schedule, std::int32_t stage) {
  if (schedule.kind == ScheduleKind::kGPipe) return schedule.num_micro_batches;
  return std::min(schedule.num_micro_batches, schedule.num_stages - 1 - stage);
}

/// GPipe and 1F1B differ in the warm-up alone: forwards ahead, then one forward and one backward
/// until the forwards are used up, then the remaining backwards.
std::vector<Action> actions_of_stage(const Schedule& schedule, std::int32_t stage) {
  const std::int32_t total = schedule.num_micro_batches;
  const std::int32_t warmup = num_warmup(schedule, stage);
  std::vector<Action> actions;
  actions.reserve(2 * static_cast<std::size_t>(total));
  const auto add = [&](ActionKind kind, std::int32_t micro_batch) {
    actions.push_back({kind, StageIndex{stage}, MicroBatchIndex{micro_batch}});
  };
  for (std::int32_t m = 0; m < warmup; ++m) add(ActionKind::kForward, m);
  for (std::int32_t m = warmup; m < total; ++m) {
    add(ActionKind::kForward, m);
    add(ActionKind::kBackward, m - warmup);
  }
  for (std::int32_t m = total - warmup; m < total; ++m) add(ActionKind::kBackward, m);
  return actions;
}

}  // namespace

std::string_view to_string(ScheduleKind kind) { return name_in(kKinds, kind); }

Result<ScheduleKind> parse_schedule_kind(std::string_view text) {
  return parse_name(kKinds, "schedule", "schedule", text);
}

Result<Schedule> make_schedule(ScheduleKind kind, std::int32_t num_stages,
                               std::int32_t num_micro_batches) {
  if (num_stages < 1) {
    return Error(ErrorCode::kInvalidArgument, "a schedule needs at least one stage")
        .with_value(std::int64_t{num_stages})
        .with_limit(std::int64_t{1});
  }
  if (num_micro_batches < 1) {
    return Error(ErrorCode::kInvalidArgument, "a schedule needs at least one micro-batch")
        .with_value(std::int64_t{num_micro_batches})
        .with_limit(std::int64_t{1});
  }
  const std::int64_t num_actions = 2 * std::int64_t{num_stages} * num_micro_batches;
  if (num_actions > kMaxActions) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format(
                     "{} stages with {} micro-batches a step make a schedule of {} actions, at "
                     "most {} are supported",
                     num_stages, num_micro_batches, num_actions, kMaxActions))
        .with_value(num_actions)
        .with_limit(kMaxActions)
        .with_hint("use fewer micro-batches or stages");
  }
  Schedule schedule{kind, num_stages, num_micro_batches, {}, {}};
  for (std::int32_t stage = 0; stage < num_stages; ++stage) {
    schedule.stage_rank.push_back(RankIndex{stage});
    schedule.ranks.push_back(actions_of_stage(schedule, stage));
  }
  return schedule;
}

}  // namespace omnibal::schedule
