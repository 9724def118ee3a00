// SPDX-License-Identifier: Apache-2.0
//
// Schedules whose ranks run several stages or split their backwards: memory and answers of room
// joint against the simulator and brute force.
#include <gmock/gmock.h>

#include "joint/made_problem.h"
#include "joint/made_schedule.h"
#include "omnibal/simulate/stage_memory.h"

namespace omnibal::joint {
namespace {

using schedule::ScheduleKind;

constexpr std::array kKinds = {ScheduleKind::kInterleaved, ScheduleKind::kZbH1, ScheduleKind::kZbV};

/// Bytes by the simulator's replay of the schedule's lists.
std::vector<std::int64_t> replayed_peaks(const MadeProblem& made, const partition::Cuts& cuts,
                                         const LayerChoices& choices) {
  const std::vector<cost::Load> loads(static_cast<std::size_t>(made.schedule.num_micro_batches),
                                      made.profile.load);
  return simulate::peak_bytes(made.schedule, cost::with_choices(made.profile, choices), cuts,
                              to_mask(choices), loads);
}

LayerChoices random_choices(PhiloxRng& rng, const MadeProblem& made) {
  LayerChoices choices;
  for (const JointLayer& layer : made.layers) {
    const auto ways = static_cast<std::uint32_t>(layer.choices.size()) + 1;
    choices.push_back(static_cast<std::int32_t>(rng.below(ways)));
  }
  return choices;
}

partition::Cuts random_cuts(PhiloxRng& rng, std::uint32_t num_layers, std::int32_t num_stages) {
  std::vector<std::int32_t> cuts;
  for (std::uint32_t at = 1; at < num_layers; ++at) {
    const std::uint32_t wanted =
        static_cast<std::uint32_t>(num_stages) - 1 - static_cast<std::uint32_t>(cuts.size());
    if (rng.below(num_layers - at) < wanted) cuts.push_back(static_cast<std::int32_t>(at));
  }
  return partition::cuts_at(cuts);
}

TEST(RanksProperty, PeakIsThatOfTheReplayedLists) {
  PhiloxRng rng(72, RngStream::kTest);
  for (std::size_t i = 0; i < 600; ++i) {
    schedule::Schedule schedule = random_schedule(rng, kKinds[i % kKinds.size()], 4, 14, 3);
    const auto num_layers = static_cast<std::uint32_t>(schedule.num_stages) + rng.below(12);
    MadeProblem made = made_problem(rng, num_layers, std::move(schedule));
    if (i % 2 == 1) give_choices(rng, made);
    const partition::Cuts cuts = random_cuts(rng, num_layers, made.schedule.num_stages);
    const LayerChoices choices = random_choices(rng, made);
    std::vector<std::int64_t> peaks;
    for (const schedule::RankMoments& rank : schedule::fullest_moments(made.schedule)) {
      peaks.push_back(peak_bytes_of_rank(rank, made.layers, cuts, choices));
    }
    EXPECT_EQ(peaks, replayed_peaks(made, cuts, choices))
        << i << ": " << to_string(made.schedule.kind);
  }
}

/// Every choice for the layers of one rank, others as in `choices`.
void for_each_choice(const MadeProblem& made, const std::vector<std::size_t>& layers,
                     std::size_t at, LayerChoices& choices, const std::function<void()>& visit) {
  if (at == layers.size()) return visit();
  for (std::size_t c = 0; c <= made.layers[layers[at]].choices.size(); ++c) {
    choices[layers[at]] = static_cast<std::int32_t>(c);
    for_each_choice(made, layers, at + 1, choices, visit);
  }
  choices[layers[at]] = 0;
}

/// Of cuts: the slowest rank with the least recomputation that fits, the fullest rank with the best
/// one, by all choices of each rank.
struct RanksByForce {
  double bottleneck_s = 0;
  std::int64_t least_peak = 0;
};

RanksByForce ranks_by_force(const MadeProblem& made, const partition::Cuts& cuts,
                            std::int64_t limit) {
  RanksByForce result;
  const auto num_layers = static_cast<std::int32_t>(made.layers.size());
  const std::vector<partition::StageRange> stages = partition::stage_ranges(cuts, num_layers);
  for (std::size_t rank = 0; rank < made.schedule.ranks.size(); ++rank) {
    std::vector<std::size_t> layers;
    double work_s = 0;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      if (static_cast<std::size_t>(made.schedule.stage_rank[s].value()) != rank) continue;
      for (std::int32_t i = stages[s].begin; i < stages[s].end; ++i) {
        layers.push_back(static_cast<std::size_t>(i));
        work_s += made.layers[layers.back()].forward_s + made.layers[layers.back()].backward_s;
      }
    }
    LayerChoices choices(made.layers.size(), 0);
    double least_s = kNone;
    std::int64_t least_peak = std::numeric_limits<std::int64_t>::max();
    for_each_choice(made, layers, 0, choices, [&] {
      const std::int64_t peak = replayed_peaks(made, cuts, choices)[rank];
      least_peak = std::min(least_peak, peak);
      if (peak > limit) return;
      double sum = 0;
      for (const std::size_t i : layers) {
        if (choices[i] == 0) continue;
        sum += made.layers[i].choices[static_cast<std::size_t>(choices[i]) - 1].recompute_s;
      }
      least_s = std::min(least_s, sum);
    });
    result.bottleneck_s = std::max(result.bottleneck_s, work_s + least_s);
    result.least_peak = std::max(result.least_peak, least_peak);
  }
  return result;
}

struct SmallCase {
  MadeProblem made;
  std::int64_t limit = 0;
};

/// At most `most_layers` layers, above 5, on up to 3 ranks; a limit between what all cuts need at
/// best and what none needs.
SmallCase small_case(PhiloxRng& rng, std::size_t i, std::uint32_t most_layers, bool named) {
  schedule::Schedule schedule = random_schedule(rng, kKinds[i % kKinds.size()], 3, 7, 2);
  const auto num_layers =
      static_cast<std::uint32_t>(schedule.num_stages) +
      rng.below(most_layers + 1 - static_cast<std::uint32_t>(schedule.num_stages));
  SmallCase made{made_problem(rng, num_layers, std::move(schedule)), 0};
  if (named) give_choices(rng, made.made);
  std::int64_t most = 0;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for_each_cuts(static_cast<std::int32_t>(num_layers), made.made.schedule.num_stages,
                [&](const std::vector<std::int32_t>& cuts) {
                  const LayerChoices none(num_layers, 0);
                  const std::vector<std::int64_t> peaks =
                      replayed_peaks(made.made, partition::cuts_at(cuts), none);
                  const std::int64_t peak = *std::ranges::max_element(peaks);
                  most = std::max(most, peak);
                  least = std::min(least, peak);
                });
  const auto span = static_cast<std::uint32_t>(most - least / 2 + 1);
  made.limit = least / 2 + rng.below(span);
  return made;
}

/// What answers did.
struct Seen {
  int recomputing = 0;
  int named = 0;  // among them, by a choice beside the first
  int infeasible = 0;
};

/// The answer to a small case is the best of all cuts, all recomputations and all choices.
void check_small_case(const SmallCase& small, std::size_t i, Seen& seen) {
  const MadeProblem& made = small.made;
  const auto num_layers = static_cast<std::int32_t>(made.layers.size());
  const auto answer = solve(made.problem(small.limit), {}, made.evaluator());
  double least_bottleneck_s = kNone;
  double least_makespan_s = kNone;  // of cuts that fit without recomputation
  std::int64_t least_limit = std::numeric_limits<std::int64_t>::max();
  const LayerChoices none(made.layers.size(), 0);
  for_each_cuts(num_layers, made.schedule.num_stages, [&](const auto& first_layers) {
    const partition::Cuts cuts = partition::cuts_at(first_layers);
    const RanksByForce ranks = ranks_by_force(made, cuts, small.limit);
    least_bottleneck_s = std::min(least_bottleneck_s, ranks.bottleneck_s);
    least_limit = std::min(least_limit, ranks.least_peak);
    const std::vector<std::int64_t> peaks = replayed_peaks(made, cuts, none);
    if (*std::ranges::max_element(peaks) > small.limit) return;
    least_makespan_s = std::min(least_makespan_s, made.evaluator()(cuts, none));
  });
  if (least_bottleneck_s == kNone) {
    ++seen.infeasible;
    ASSERT_FALSE(answer.ok()) << i;
    EXPECT_EQ(answer.error().code, ErrorCode::kMemoryInfeasible);
    EXPECT_EQ(std::get<std::int64_t>(answer.error().value), least_limit) << i;
    return;
  }
  ASSERT_TRUE(answer.ok()) << i << ": " << answer.error().message;
  const JointPlan& best = answer->best;
  seen.recomputing += best.choices != none ? 1 : 0;
  seen.named += std::ranges::max(best.choices) > 1 ? 1 : 0;
  const std::vector<std::int64_t> peaks = replayed_peaks(made, best.cuts, best.choices);
  EXPECT_LE(*std::ranges::max_element(peaks), small.limit) << i;
  EXPECT_LE(best.makespan_s, least_makespan_s * (1 + 1e-12)) << i;
  EXPECT_TRUE(answer->certificate.proven) << i;
  EXPECT_NEAR(answer->certificate.lower_bound_s, least_bottleneck_s, 1e-9) << i;
  EXPECT_LE(answer->certificate.makespan_bound_s, best.makespan_s * (1 + 1e-12)) << i;
  EXPECT_NEAR(made.evaluator()(best.cuts, best.choices), best.makespan_s, 1e-12) << i;
}

TEST(RanksProperty, AnswerIsTheBestOfAllCutsOnSmallLists) {
  PhiloxRng rng(73, RngStream::kTest);
  Seen seen;
  for (std::size_t i = 0; i < 360; ++i) {
    check_small_case(small_case(rng, i, 9, false), i, seen);
  }
  EXPECT_GT(seen.recomputing, 40);
  EXPECT_GT(seen.infeasible, 5);
}

TEST(RanksProperty, NamedChoicesAreWeighedToo) {
  PhiloxRng rng(75, RngStream::kTest);
  Seen seen;
  for (std::size_t i = 0; i < 132; ++i) {
    check_small_case(small_case(rng, i, 6, true), i, seen);
  }
  EXPECT_GT(seen.named, 20);
  EXPECT_GT(seen.infeasible, 1);
}

/// Checks what must hold of any answer.
void check_answer(const MadeProblem& made, const std::optional<std::int64_t>& limit,
                  const JointAnswer& answer) {
  const JointPlan& best = answer.best;
  EXPECT_TRUE(partition::check_cuts(best.cuts, static_cast<std::int32_t>(made.layers.size())).ok());
  EXPECT_EQ(best.cuts.size() + 1, static_cast<std::size_t>(made.schedule.num_stages));
  if (limit) {
    for (const std::int64_t peak : replayed_peaks(made, best.cuts, best.choices)) {
      EXPECT_LE(peak, *limit);
    }
  }
  EXPECT_LE(answer.certificate.lower_bound_s, best.bottleneck_s * (1 + 1e-12));
  EXPECT_LE(answer.certificate.makespan_bound_s, best.makespan_s * (1 + 1e-12));
  for (const JointPlan& other : answer.alternatives) {
    EXPECT_LE(best.makespan_s, other.makespan_s * (1 + 1e-12));
  }
}

TEST(RanksProperty, LargerListsKeepTheLimitAndTheBounds) {
  PhiloxRng rng(74, RngStream::kTest);
  for (std::size_t i = 0; i < 45; ++i) {
    schedule::Schedule schedule = random_schedule(rng, kKinds[i % kKinds.size()], 6, 20, 3);
    const auto num_layers = static_cast<std::uint32_t>(2 * schedule.num_stages) + rng.below(40);
    const MadeProblem made = made_problem(rng, num_layers, std::move(schedule));
    const auto free = solve(made.problem(std::nullopt), {}, made.evaluator());
    ASSERT_TRUE(free.ok()) << i;
    check_answer(made, std::nullopt, *free);
    const std::vector<std::int64_t> peaks =
        replayed_peaks(made, free->best.cuts, free->best.choices);
    const std::int64_t limit = *std::ranges::max_element(peaks) * 3 / 4;
    const auto tight = solve(made.problem(limit), {.seeds = {free->best.cuts}}, made.evaluator());
    if (tight) check_answer(made, limit, *tight);
    if (!tight) {
      EXPECT_EQ(tight.error().code, ErrorCode::kMemoryInfeasible) << i;
    }
    const auto any = solve(made.problem(std::int64_t{1} << 50), {}, made.evaluator());
    EXPECT_EQ(any->best.cuts, free->best.cuts) << i;
  }
}

TEST(RanksProperty, MoreChoicesAreNeverSlower) {
  PhiloxRng rng(76, RngStream::kTest);
  int faster = 0;
  for (std::size_t i = 0; i < 45; ++i) {
    schedule::Schedule schedule = random_schedule(rng, kKinds[i % kKinds.size()], 5, 16, 3);
    const auto num_layers = static_cast<std::uint32_t>(schedule.num_stages) + rng.below(30);
    MadeProblem made = made_problem(rng, num_layers, std::move(schedule));
    const auto free = solve(made.problem(std::nullopt), {}, made.evaluator());
    ASSERT_TRUE(free.ok()) << i;
    const std::vector<std::int64_t> peaks =
        replayed_peaks(made, free->best.cuts, free->best.choices);
    const std::int64_t limit = *std::ranges::max_element(peaks) * 3 / 4;
    const auto whole = solve(made.problem(limit), {}, made.evaluator());
    give_choices(rng, made);
    const auto named = solve(made.problem(limit), {}, made.evaluator());
    if (named) check_answer(made, limit, *named);
    if (!whole) continue;
    ASSERT_TRUE(named.ok()) << i;
    EXPECT_LE(named->best.makespan_s, whole->best.makespan_s * (1 + 1e-12)) << i;
    faster += named->best.makespan_s < whole->best.makespan_s * 0.999 ? 1 : 0;
  }
  EXPECT_GT(faster, 10);
}

}  // namespace
}  // namespace omnibal::joint
