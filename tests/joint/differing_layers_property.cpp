// SPDX-License-Identifier: Apache-2.0
//
// Measured layers are never alike: lists all of whose layers differ a little, or much, on schedules
// whose ranks run several stages or split their backwards, against brute force and against the list
// whose layers are alike.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <cmath>

#include "data_paths.h"
#include "joint/made_problem.h"
#include "joint/made_schedule.h"

namespace omnibal::joint {
namespace {

using schedule::ScheduleKind;

constexpr std::array kDifferingKinds = {ScheduleKind::kInterleaved, ScheduleKind::kZbH1,
                                        ScheduleKind::kZbV};

/// Every layer's bytes and seconds by up to `spread` of themselves off.
void jitter(PhiloxRng& rng, double spread, MadeProblem& made) {
  const auto factor = [&] { return 1 + spread * (2 * rng.uniform() - 1); };
  for (cost::LayerProfile& layer : made.profile.layers) {
    layer.activation_bytes.constant = std::round(layer.activation_bytes.constant * factor());
    layer.forward_s.constant *= factor();
    layer.recompute_s.constant *= factor();
  }
  made.costs = cost::evaluate(made.profile, made.profile.load);
  made.layers =
      joint_layers(recompute::bar_layers(made.profile, made.costs), made.costs, made.costs);
}

/// 9 to 12 layers of one or two kinds, of thousands of bytes, jittered, on one rank or two.
MadeProblem small_problem(PhiloxRng& rng, ScheduleKind kind, double spread) {
  schedule::Schedule schedule = random_schedule(rng, kind, 2, 6, 2);
  MadeProblem made = made_problem(rng, 9 + rng.below(4), std::move(schedule));
  for (cost::LayerProfile& layer : made.profile.layers) {
    for (auto* bytes : {&layer.activation_bytes, &layer.recomputed_bytes, &layer.static_bytes}) {
      bytes->constant *= 1000;
    }
    layer.recomputed_bytes.constant *= 0.5;
  }
  jitter(rng, spread, made);
  return made;
}

/// Of one rank with given cuts, by all choices of its layers.
struct RankByForce {
  double least_s = kNone;  // of recomputation that fits
  std::int64_t least_peak = std::numeric_limits<std::int64_t>::max();
};

RankByForce rank_by_force(const MadeProblem& made, const schedule::RankMoments& rank,
                          const partition::Cuts& cuts, std::int64_t limit) {
  std::vector<std::size_t> layers;
  const auto stages = partition::stage_ranges(cuts, static_cast<std::int32_t>(made.layers.size()));
  for (const StageIndex stage : rank.stages) {
    const partition::StageRange& range = stages[static_cast<std::size_t>(stage.value())];
    for (std::int32_t i = range.begin; i < range.end; ++i) {
      if (!made.layers[static_cast<std::size_t>(i)].choices.empty()) {
        layers.push_back(static_cast<std::size_t>(i));
      }
    }
  }
  RankByForce result;
  for (std::uint32_t which = 0; which < (1U << layers.size()); ++which) {
    LayerChoices choices(made.layers.size(), 0);
    double sum = 0;
    for (std::size_t k = 0; k < layers.size(); ++k) {
      if ((which >> k & 1U) == 0) continue;
      choices[layers[k]] = 1;
      sum += made.layers[layers[k]].choices.front().recompute_s;
    }
    const std::int64_t peak = peak_bytes_of_rank(rank, made.layers, cuts, choices);
    result.least_peak = std::min(result.least_peak, peak);
    if (peak <= limit) result.least_s = std::min(result.least_s, sum);
  }
  return result;
}

/// Given cuts fit if any recomputation does, and what is missing is exact; the least recomputation
/// is found, or nearly so.
void check_given_cuts(PhiloxRng& rng, const MadeProblem& made, int& asked, int& least) {
  const std::vector<schedule::RankMoments> ranks = schedule::fullest_moments(made.schedule);
  std::vector<std::int32_t> first_layers;
  const auto num_layers = static_cast<std::int32_t>(made.layers.size());
  for (std::int32_t s = 1; s < made.schedule.num_stages; ++s) {
    first_layers.push_back(s * num_layers / made.schedule.num_stages);
  }
  const partition::Cuts cuts = partition::cuts_at(first_layers);
  std::int64_t needed = 0;
  std::int64_t most = 0;
  for (const schedule::RankMoments& rank : ranks) {
    needed = std::max(needed, rank_by_force(made, rank, cuts, 0).least_peak);
    most = std::max(
        most, peak_bytes_of_rank(rank, made.layers, cuts, LayerChoices(made.layers.size(), 0)));
  }
  const auto refused = choose_recomputation(made.problem(needed - 1), cuts);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(std::get<std::int64_t>(refused.error().value), needed);
  const auto span = static_cast<std::uint32_t>(most - needed + 1);
  for (const std::int64_t limit : {needed, needed + rng.below(span), needed + rng.below(span)}) {
    const auto choices = choose_recomputation(made.problem(limit), cuts);
    ASSERT_TRUE(choices.ok()) << choices.error().message;
    for (const schedule::RankMoments& rank : ranks) {
      EXPECT_LE(peak_bytes_of_rank(rank, made.layers, cuts, *choices), limit);
      const RankByForce force = rank_by_force(made, rank, cuts, limit);
      double sum = 0;
      const auto stages = partition::stage_ranges(cuts, num_layers);
      for (const StageIndex stage : rank.stages) {
        const partition::StageRange& range = stages[static_cast<std::size_t>(stage.value())];
        for (auto i = static_cast<std::size_t>(range.begin);
             i < static_cast<std::size_t>(range.end); ++i) {
          if ((*choices)[i] != 0) sum += made.layers[i].choices.front().recompute_s;
        }
      }
      ++asked;
      least += sum <= force.least_s * (1 + 1e-9) + 1e-12 ? 1 : 0;
      EXPECT_LE(sum, force.least_s * 1.25 + 1e-12);
    }
  }
}

TEST(DifferingLayersProperty, GivenCutsFitWhereAnyRecomputationDoes) {
  PhiloxRng rng(81, RngStream::kTest);
  int asked = 0;
  int least = 0;
  for (std::size_t i = 0; i < 180; ++i) {
    const double spread = std::array{0.002, 0.02, 0.2}[i / 3 % 3];
    check_given_cuts(rng, small_problem(rng, kDifferingKinds[i % kDifferingKinds.size()], spread),
                     asked, least);
  }
  EXPECT_GT(least, asked * 95 / 100) << asked;
}

/// Where all cuts are looked at, something that fits is never refused, and the limit that an error
/// names is the least.
TEST(DifferingLayersProperty, CutsAreFoundWhereAnyFit) {
  PhiloxRng rng(82, RngStream::kTest);
  for (std::size_t i = 0; i < 45; ++i) {
    const double spread = std::array{0.002, 0.02, 0.2}[i / 3 % 3];
    const MadeProblem made =
        small_problem(rng, kDifferingKinds[i % kDifferingKinds.size()], spread);
    const std::vector<schedule::RankMoments> ranks = schedule::fullest_moments(made.schedule);
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for_each_cuts(static_cast<std::int32_t>(made.layers.size()), made.schedule.num_stages,
                  [&](const std::vector<std::int32_t>& first_layers) {
                    const partition::Cuts cuts = partition::cuts_at(first_layers);
                    std::int64_t needed = 0;
                    for (const schedule::RankMoments& rank : ranks) {
                      if (needed >= least) return;
                      needed = std::max(needed, rank_by_force(made, rank, cuts, 0).least_peak);
                    }
                    least = std::min(least, needed);
                  });
    const auto answer = solve(made.problem(least), {}, made.evaluator());
    ASSERT_TRUE(answer.ok()) << i << ": " << answer.error().message;
    const auto refused = solve(made.problem(least - 1), {}, made.evaluator());
    ASSERT_FALSE(refused.ok()) << i;
    EXPECT_EQ(std::get<std::int64_t>(refused.error().value), least) << i;
  }
}

MadeProblem workload(ScheduleKind kind, std::int32_t ranks) {
  MadeProblem made;
  made.profile = *cost::read_profile(test_data("w.json"));
  const std::int32_t chunks = schedule::fewest_chunks(kind);
  made.schedule = *schedule::make_schedule(kind, ranks * chunks, 4 * ranks, {.chunks = chunks});
  made.compiled = *simulate::compile(made.schedule);
  return made;
}

/// Workload W with every layer a little off is at most 1 % slower than W within the same memory.
TEST(DifferingLayersProperty, WorkloadWOffByLittleIsHardlySlower) {
  PhiloxRng rng(83, RngStream::kTest);
  struct Case {
    ScheduleKind kind;
    std::int32_t ranks;
    std::int64_t gigabytes;
  };
  for (const Case& asked :
       {Case{ScheduleKind::kZbV, 4, 70}, Case{ScheduleKind::kZbV, 8, 70},
        Case{ScheduleKind::kZbV, 8, 60}, Case{ScheduleKind::kZbH1, 4, 77},
        Case{ScheduleKind::kZbH1, 8, 70}, Case{ScheduleKind::kInterleaved, 4, 60}}) {
    MadeProblem plain = workload(asked.kind, asked.ranks);
    MadeProblem off = workload(asked.kind, asked.ranks);
    jitter(rng, 0, plain);
    jitter(rng, 0.002, off);
    const std::int64_t limit = asked.gigabytes * 1'000'000'000;
    const auto of_plain = solve(plain.problem(limit), {}, plain.evaluator());
    const auto of_off = solve(off.problem(limit), {}, off.evaluator());
    const std::string what = fmt::format("{} {}", to_string(asked.kind), asked.ranks);
    ASSERT_TRUE(of_plain.ok()) << what << of_plain.error().message;
    ASSERT_TRUE(of_off.ok()) << what << of_off.error().message;
    EXPECT_LE(of_off->best.makespan_s, of_plain->best.makespan_s * 1.01) << what;
  }
}

}  // namespace
}  // namespace omnibal::joint
