// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "omnibal/base/name_table.h"
#include "schedule/stage_lists.h"

namespace omnibal::schedule {
namespace {

constexpr std::array kKinds = {
    Named{ScheduleKind::kOneFOneB, "1f1b"}, Named{ScheduleKind::kGPipe, "gpipe"},
    Named{ScheduleKind::kInterleaved, "interleaved"}, Named{ScheduleKind::kZbH1, "zb-h1"},
    Named{ScheduleKind::kZbV, "zb-v"}};

Error refusal(std::string message, std::int64_t value, std::int64_t limit) {
  return Error(ErrorCode::kInvalidArgument, std::move(message)).with_value(value).with_limit(limit);
}

Status check_chunks(ScheduleKind kind, std::int32_t num_stages, std::int32_t chunks) {
  const std::int32_t fewest = fewest_chunks(kind);
  if (kind == ScheduleKind::kInterleaved ? chunks < fewest : chunks != fewest) {
    return refusal(fmt::format("{} runs {}{} stage{} a rank, not {}", to_string(kind),
                               kind == ScheduleKind::kInterleaved ? "at least " : "", fewest,
                               fewest == 1 ? "" : "s", chunks),
                   chunks, fewest)
        .at_key("chunks");
  }
  if (num_stages % chunks == 0) return {};
  return refusal(fmt::format("{} stages cannot be dealt out as {} a rank", num_stages, chunks),
                 num_stages, chunks)
      .at_key("chunks")
      .with_hint("cut the layers into a multiple of the stages a rank runs");
}

Status check_request(ScheduleKind kind, std::int32_t num_stages, std::int32_t num_micro_batches,
                     std::int32_t chunks) {
  if (num_stages < 1) return refusal("a schedule needs at least one stage", num_stages, 1);
  if (num_micro_batches < 1) {
    return refusal("a schedule needs at least one micro-batch", num_micro_batches, 1);
  }
  OMNIBAL_RETURN_IF_ERROR(check_chunks(kind, num_stages, chunks));
  const bool splits = kind == ScheduleKind::kZbH1 || kind == ScheduleKind::kZbV;
  const std::int64_t num_actions = (splits ? 3 : 2) * std::int64_t{num_stages} * num_micro_batches;
  if (num_actions <= kMaxActions) return {};
  return refusal(fmt::format("{} stages with {} micro-batches a step make a schedule of {} "
                             "actions, at most {} are supported",
                             num_stages, num_micro_batches, num_actions, kMaxActions),
                 num_actions, kMaxActions)
      .with_hint("use fewer micro-batches or stages");
}

std::int32_t rank_of_stage(ScheduleKind kind, std::int32_t stage, std::int32_t num_ranks) {
  const bool turned = kind == ScheduleKind::kZbV && stage >= num_ranks;
  return turned ? 2 * num_ranks - 1 - stage : stage % num_ranks;
}

std::vector<Action> list_of_rank(ScheduleKind kind, const RankPlace& place, std::int32_t chunks) {
  switch (kind) {
    case ScheduleKind::kGPipe:
      return gpipe_list(place);
    case ScheduleKind::kOneFOneB:
      return one_f_one_b_list(place);
    case ScheduleKind::kInterleaved:
      return interleaved_list(place, chunks);
    case ScheduleKind::kZbH1:
      return zb_h1_list(place);
    case ScheduleKind::kZbV:
      return zb_v_list(place);
  }
  return {};
}

}  // namespace

std::string_view to_string(ScheduleKind kind) { return name_in(kKinds, kind); }

std::vector<std::string> schedule_kinds() { return names_in(kKinds); }

Result<ScheduleKind> parse_schedule_kind(std::string_view text) {
  return parse_name(kKinds, "schedule", "schedule", text);
}

std::int32_t num_chunks(const Schedule& schedule) {
  const std::ptrdiff_t spread = schedule.spread_ranks.empty() ? 0 : 1;
  return static_cast<std::int32_t>(std::count(
      schedule.stage_rank.begin() + spread, schedule.stage_rank.end(), schedule.stage_rank.back()));
}

std::int32_t fewest_chunks(ScheduleKind kind) {
  return kind == ScheduleKind::kInterleaved || kind == ScheduleKind::kZbV ? 2 : 1;
}

Result<Schedule> make_schedule(ScheduleKind kind, std::int32_t num_stages,
                               std::int32_t num_micro_batches, const ScheduleOptions& options) {
  OMNIBAL_RETURN_IF_ERROR(check_request(kind, num_stages, num_micro_batches, options.chunks));
  const std::int32_t num_ranks = num_stages / options.chunks;
  Schedule schedule{kind, num_stages, num_micro_batches, {}, {}};
  for (std::int32_t stage = 0; stage < num_stages; ++stage) {
    schedule.stage_rank.push_back(RankIndex{rank_of_stage(kind, stage, num_ranks)});
  }
  for (std::int32_t rank = 0; rank < num_ranks; ++rank) {
    schedule.ranks.push_back(
        list_of_rank(kind, {num_ranks, rank, num_micro_batches}, options.chunks));
  }
  return schedule;
}

std::span<const RankIndex> ranks_of(const Schedule& schedule, StageIndex stage) {
  if (stage.value() == 0 && !schedule.spread_ranks.empty()) return schedule.spread_ranks;
  return {&schedule.stage_rank[static_cast<std::size_t>(stage.value())], 1};
}

RankIndex rank_of(const Schedule& schedule, StageIndex stage, MicroBatchIndex micro_batch) {
  const std::span<const RankIndex> ranks = ranks_of(schedule, stage);
  return ranks[static_cast<std::size_t>(micro_batch.value()) % ranks.size()];
}

bool has_weight_grads(const Schedule& schedule) {
  return std::ranges::any_of(schedule.ranks, [](const std::vector<Action>& actions) {
    return std::ranges::any_of(
        actions, [](const Action& action) { return action.kind == ActionKind::kWeightGrad; });
  });
}

}  // namespace omnibal::schedule
