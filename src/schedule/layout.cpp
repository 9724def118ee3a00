// SPDX-License-Identifier: Apache-2.0
//
// Sources: colocated towers, Megatron-Core MIMO (arXiv 2605.27678); vision nested into the language
// pipeline, BigMac (arXiv 2605.25451); vision ranks apart, DistTrain (arXiv 2408.04275).
#include "omnibal/schedule/layout.h"

#include <algorithm>
#include <array>
#include <utility>

#include "omnibal/base/name_table.h"
#include "schedule/action_table.h"
#include "schedule/stage_lists.h"

namespace omnibal::schedule {
namespace {

constexpr std::array kPlaces = {Named{VisionPlace::kBefore, "before"},
                                Named{VisionPlace::kNested, "nested"},
                                Named{VisionPlace::kApart, "apart"}};

Action behind_vision(const Action& action) {
  return {action.kind, StageIndex{action.stage.value() + 1}, action.micro_batch};
}

/// Appends vision actions; a split schedule's weight gradient follows its backward.
class VisionActions {
 public:
  explicit VisionActions(const Schedule& language) : splits_(has_weight_grads(language)) {}

  static void forward(std::int32_t micro_batch, std::vector<Action>& out) {
    out.push_back(action_of(ActionKind::kForward, 0, micro_batch));
  }
  void backward(std::int32_t micro_batch, std::vector<Action>& out) const {
    out.push_back(action_of(ActionKind::kBackward, 0, micro_batch));
    if (splits_) out.push_back(action_of(ActionKind::kWeightGrad, 0, micro_batch));
  }

 private:
  bool splits_;
};

/// When an action starts if a forward takes 1, a backward 2, halves of a split one 1 each.
struct TimedAction {
  Action action;
  std::int64_t start = 0;
};

std::int64_t unit_seconds(ActionKind kind, bool splits) {
  return kind == ActionKind::kBackward && !splits ? 2 : 1;
}

/// [rank][action in order].
std::vector<std::vector<TimedAction>> unit_times(const Schedule& schedule) {
  const bool splits = has_weight_grads(schedule);
  const auto width = static_cast<std::size_t>(schedule.num_micro_batches);
  const auto cell = [&](const Action& action) {
    return static_cast<std::size_t>(action.stage.value()) * width +
           static_cast<std::size_t>(action.micro_batch.value());
  };
  std::array<std::vector<std::int64_t>, 3> ends;
  ends.fill(std::vector<std::int64_t>(static_cast<std::size_t>(schedule.num_stages) * width, 0));
  std::vector<std::int64_t> clocks(schedule.ranks.size(), 0);
  std::vector<std::vector<TimedAction>> timed(schedule.ranks.size());
  for (const ActionPosition& position : execution_order(schedule)) {
    const auto rank = static_cast<std::size_t>(position.rank);
    const Action& action = schedule.ranks[rank][static_cast<std::size_t>(position.index)];
    std::int64_t start = clocks[rank];
    if (const std::optional<Action> source = waits_for(schedule, action, false)) {
      start = std::max(start, ends[static_cast<std::size_t>(source->kind)][cell(*source)]);
    }
    clocks[rank] = start + unit_seconds(action.kind, splits);
    ends[static_cast<std::size_t>(action.kind)][cell(action)] = clocks[rank];
    timed[rank].push_back({action, start});
  }
  return timed;
}

/// A pause of all ranks, in which each runs vision forwards or backwards of one round.
struct Pause {
  std::int64_t at = 0;
  ActionKind kind = ActionKind::kForward;
  std::int32_t round = 0;
};

/// In order of time; at one time backwards first, which free memory.
std::vector<Pause> pauses_of(const std::vector<std::vector<TimedAction>>& timed,
                             std::int32_t num_ranks, std::int32_t num_rounds, bool splits) {
  std::vector<std::int64_t> begins(static_cast<std::size_t>(num_rounds), 0);
  std::vector<std::int64_t> done(static_cast<std::size_t>(num_rounds), 0);
  for (const std::vector<TimedAction>& actions : timed) {
    for (const TimedAction& one : actions) {
      if (one.action.stage.value() != 0) continue;
      const std::int32_t m = one.action.micro_batch.value();
      const auto round = static_cast<std::size_t>(m / num_ranks);
      if (one.action.kind == ActionKind::kForward && m % num_ranks == 0) begins[round] = one.start;
      if (one.action.kind != ActionKind::kBackward) continue;
      done[round] = std::max(done[round], one.start + unit_seconds(one.action.kind, splits));
    }
  }
  std::vector<Pause> pauses;
  for (std::int32_t round = 0; round < num_rounds; ++round) {
    const auto r = static_cast<std::size_t>(round);
    const auto next = std::ranges::lower_bound(begins, done[r]);
    pauses.push_back({begins[r], ActionKind::kForward, round});
    pauses.push_back({next == begins.end() ? done[r] : *next, ActionKind::kBackward, round});
  }
  std::ranges::stable_sort(pauses, [](const Pause& a, const Pause& b) {
    return std::pair(a.at, a.kind == ActionKind::kForward) <
           std::pair(b.at, b.kind == ActionKind::kForward);
  });
  return pauses;
}

void nest(const Schedule& language, Schedule& out) {
  const auto num_ranks = static_cast<std::int32_t>(language.ranks.size());
  const std::int32_t num_rounds = (language.num_micro_batches + num_ranks - 1) / num_ranks;
  const std::vector<std::vector<TimedAction>> timed = unit_times(language);
  const std::vector<Pause> pauses =
      pauses_of(timed, num_ranks, num_rounds, has_weight_grads(language));
  const VisionActions vision(language);
  for (std::int32_t rank = 0; rank < num_ranks; ++rank) {
    std::vector<Action>& list = out.ranks[static_cast<std::size_t>(rank)];
    const auto run = [&](const Pause& pause) {
      const std::int32_t m = pause.round * num_ranks + rank;
      if (m >= language.num_micro_batches) return;
      if (pause.kind == ActionKind::kForward) VisionActions::forward(m, list);
      if (pause.kind == ActionKind::kBackward) vision.backward(m, list);
    };
    auto pause = pauses.begin();
    for (const TimedAction& one : timed[static_cast<std::size_t>(rank)]) {
      for (; pause != pauses.end() && pause->at <= one.start; ++pause) run(*pause);
      list.push_back(behind_vision(one.action));
    }
    for (; pause != pauses.end(); ++pause) run(*pause);
  }
}

void surround(const Schedule& language, Schedule& out) {
  const auto num_ranks = static_cast<std::int32_t>(language.ranks.size());
  const VisionActions vision(language);
  for (std::int32_t rank = 0; rank < num_ranks; ++rank) {
    std::vector<Action>& list = out.ranks[static_cast<std::size_t>(rank)];
    for (std::int32_t m = rank; m < language.num_micro_batches; m += num_ranks) {
      VisionActions::forward(m, list);
    }
    std::ranges::transform(language.ranks[static_cast<std::size_t>(rank)], std::back_inserter(list),
                           behind_vision);
    for (std::int32_t m = rank; m < language.num_micro_batches; m += num_ranks) {
      vision.backward(m, list);
    }
  }
}

void set_apart(const Schedule& language, std::int32_t num_vision, Schedule& out) {
  const VisionActions vision(language);
  for (std::size_t rank = 0; rank < language.ranks.size(); ++rank) {
    std::ranges::transform(language.ranks[rank], std::back_inserter(out.ranks[rank]),
                           behind_vision);
  }
  const auto held = static_cast<std::int32_t>(in_flight(language, StageIndex{0}));
  const std::int32_t ahead = (held + num_vision - 1) / num_vision * num_vision;
  for (std::int32_t i = 0; i < num_vision; ++i) {
    std::vector<Action>& list = out.ranks.emplace_back();
    for (std::int32_t m = i; m < language.num_micro_batches + ahead; m += num_vision) {
      if (m < language.num_micro_batches) VisionActions::forward(m, list);
      if (m >= ahead) vision.backward(m - ahead, list);
    }
  }
}

}  // namespace

std::string_view to_string(VisionPlace place) { return name_in(kPlaces, place); }

std::vector<std::string> vision_places() { return names_in(kPlaces); }

Result<VisionPlace> parse_vision_place(std::string_view text) {
  return parse_name(kPlaces, "vision placement", "vision", text);
}

Schedule with_vision_stage(const Schedule& language, const VisionStage& vision) {
  const auto num_ranks = static_cast<std::int32_t>(language.ranks.size());
  Schedule out{.kind = language.kind,
               .num_stages = language.num_stages + 1,
               .num_micro_batches = language.num_micro_batches,
               .stage_rank = {},
               .ranks = std::vector<std::vector<Action>>(language.ranks.size())};
  const bool apart = vision.place == VisionPlace::kApart;
  for (std::int32_t i = 0; i < (apart ? vision.num_ranks : num_ranks); ++i) {
    out.spread_ranks.push_back(RankIndex{apart ? num_ranks + i : i});
  }
  out.stage_rank.push_back(out.spread_ranks.front());
  out.stage_rank.insert(out.stage_rank.end(), language.stage_rank.begin(),
                        language.stage_rank.end());
  if (apart) set_apart(language, vision.num_ranks, out);
  if (vision.place == VisionPlace::kBefore) surround(language, out);
  if (vision.place == VisionPlace::kNested) nest(language, out);
  return out;
}

}  // namespace omnibal::schedule
