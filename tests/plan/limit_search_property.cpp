// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plan/limit_task.h"

namespace omnibal::plan {
namespace {

constexpr std::int64_t kTokenUnit = 64;  // token caps are looked at in steps of it

/// Small corpora of every kind.
pack::TestSamples any_samples(PhiloxRng& rng) {
  pack::TestSamples samples;
  const std::uint32_t n = 1 + rng.below(40);
  switch (rng.below(4)) {
    case 0:  // all equal
      samples.add(rng.below(4), 1 + rng.below(900), static_cast<int>(n));
      break;
    case 1:  // text alone
      for (std::uint32_t i = 0; i < n; ++i) samples.add(0, rng.below(700));
      break;
    case 2:  // some far larger than the rest
      samples = image_samples(rng, n);
      samples.add(1 + rng.below(60), 1 + rng.below(40000));
      break;
    default:
      samples = image_samples(rng, n);
  }
  return samples;
}

bool admitted(const LimitProblem& problem, std::size_t i, std::int64_t vision,
              std::int64_t tokens) {
  return problem.usable.vision[i] <= vision && problem.usable.tokens[i] <= tokens;
}

/// Every pair of caps that holds all usable samples, up to twice the smallest such caps: with these
/// batches larger ones have no use.
void expect_none_better(const LimitProblem& problem, const LimitChoice& choice) {
  const auto vision = static_cast<std::int64_t>(*std::ranges::max_element(problem.usable.vision));
  const auto tokens = static_cast<std::int64_t>(*std::ranges::max_element(problem.usable.tokens));
  for (std::int64_t v = std::max<std::int64_t>(1, vision); v <= 2 * vision + 2; ++v) {
    for (std::int64_t t = tokens; t <= 2 * tokens; t = (t + kTokenUnit) / kTokenUnit * kTokenUnit) {
      const CapPrediction other = predict_caps(problem, v, t);
      EXPECT_LE(choice.best.seconds_per_sample, other.seconds_per_sample) << v << " x " << t;
    }
  }
}

TEST(LimitSearchProperty, NoPairOfASmallGridIsPredictedFaster) {
  PhiloxRng rng(21, RngStream::kTest);
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE(round);
    const pack::TestSamples samples = image_samples(rng, 5 + rng.below(30));
    const TrainingTarget target =
        small_target((round % 2 == 0 ? 80 : 14) * (std::int64_t{1} << 30), 4 + 2 * rng.below(5));
    const LimitTask task{.samples = samples.columns(), .target = target, .seed = rng.next_u32()};
    const auto choice = choose_limits(task, {});
    ASSERT_TRUE(choice.ok()) << to_text(choice.error());
    const auto problem = limit_problem(task);
    ASSERT_TRUE(problem.ok());
    if (choice->too_large == 0) expect_none_better(*problem, *choice);
  }
}

TEST(LimitSearchProperty, NoPairOfAGridThatWasLookedAtCoarselyIsPredictedFaster) {
  PhiloxRng rng(23, RngStream::kTest);
  for (int round = 0; round < 2; ++round) {
    SCOPED_TRACE(round);
    const pack::TestSamples samples = image_samples(rng, 1500);
    const TrainingTarget target = small_target((14 + 66 * round) * (std::int64_t{1} << 30), 64);
    const LimitTask task{.samples = samples.columns(), .target = target};
    const auto choice = choose_limits(task, {});
    ASSERT_TRUE(choice.ok()) << to_text(choice.error());
    EXPECT_LT(choice->predictions, 10000);  // of some 50,000 pairs
    const auto problem = limit_problem(task);
    ASSERT_TRUE(problem.ok());
    expect_none_better(*problem, *choice);
  }
}

TEST(LimitSearchProperty, EndsOnAnyInputAndRejectsOnlyWhatDoesNotFit) {
  PhiloxRng rng(22, RngStream::kTest);
  int with_large = 0;
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    const pack::TestSamples samples = any_samples(rng);
    const TrainingTarget target =
        small_target((4 + rng.below(40)) * (std::int64_t{1} << 30), 1 + rng.below(64));
    const LimitTask task{.samples = samples.columns(), .target = target};
    const auto choice = choose_limits(task, {});
    if (!choice.ok()) {
      EXPECT_TRUE(choice.error().code == ErrorCode::kNothingUsable ||
                  choice.error().code == ErrorCode::kMemoryInfeasible)
          << to_text(choice.error());
      continue;
    }
    EXPECT_LE(choice->best.peak_bytes, target.memory_bytes);
    const auto problem = limit_problem(task);
    ASSERT_TRUE(problem.ok());
    std::int64_t lost = 0;
    for (std::size_t i = 0; i < problem->usable.tokens.size(); ++i) {
      if (admitted(*problem, i, choice->best.vision_cap, choice->best.token_cap)) continue;
      ++lost;
      const auto larger = predict_caps(
          *problem, std::max<std::int64_t>(choice->best.vision_cap, problem->usable.vision[i]),
          std::max<std::int64_t>(choice->best.token_cap, problem->usable.tokens[i]));
      EXPECT_FALSE(larger.fits()) << "sample " << i;
    }
    EXPECT_LE(lost, choice->too_large);
    with_large += lost > 0 ? 1 : 0;
  }
  EXPECT_GT(with_large, 0);
}

}  // namespace
}  // namespace omnibal::plan
