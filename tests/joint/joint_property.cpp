// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "joint/made_problem.h"

namespace omnibal::joint {
namespace {

constexpr double kTolerance = 1e-9;

std::int32_t stages_up_to(PhiloxRng& rng, std::uint32_t most, std::uint32_t num_layers) {
  return static_cast<std::int32_t>(1 + rng.below(std::min(most, num_layers)));
}

/// A limit between what nothing fits and what everything does.
std::int64_t random_limit(PhiloxRng& rng, const BruteForce& open) {
  return open.least_limit - 3 + rng.below(static_cast<std::uint32_t>(open.least_limit / 2 + 8));
}

/// What is said about a plan is what its stages are.
void expect_true_to_itself(const MadeProblem& made, const JointPlan& plan, std::int64_t limit) {
  ASSERT_TRUE(partition::check_cuts(plan.cuts, static_cast<std::int32_t>(made.layers.size())).ok());
  const auto stages =
      metrics::summarize_stages(made.costs, partition::first_layers(plan.cuts),
                                to_mask(plan.choices), schedule::in_flight(made.schedule));
  for (const metrics::StageSummary& stage : stages) EXPECT_LE(stage.peak_bytes, limit);
  EXPECT_NEAR(metrics::partition_metrics(made.costs, stages).bottleneck_s, plan.bottleneck_s,
              kTolerance);
  EXPECT_EQ(made.evaluator()(plan.cuts, plan.choices), plan.makespan_s);
}

void expect_best(const JointAnswer& answer, const BruteForce& brute) {
  const Certificate& certificate = answer.certificate;
  EXPECT_TRUE(certificate.proven);
  EXPECT_NEAR(certificate.lower_bound_s, brute.least_bottleneck_s, kTolerance);
  EXPECT_NEAR(certificate.gap, answer.best.bottleneck_s / certificate.lower_bound_s - 1, kTolerance);
  EXPECT_LE(certificate.makespan_bound_s, brute.least_makespan_s + kTolerance);
  EXPECT_GE(answer.best.makespan_s, brute.least_makespan_s - kTolerance);
  EXPECT_LE(answer.best.makespan_s, brute.makespan_at_least_bottleneck_s + kTolerance);
}

TEST(JointProperty, CertificateIsExactAndTheAnswerTheBestOfAll) {
  PhiloxRng rng(41, RngStream::kTest);
  int feasible = 0;
  int fastest = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t num_layers = 1 + rng.below(12);
    const std::int32_t p = stages_up_to(rng, 4, num_layers);
    const MadeProblem made =
        made_problem(rng, num_layers, p, 1 + static_cast<std::int32_t>(rng.below(12)));
    const std::int64_t limit = random_limit(rng, brute_force(made, 0));
    const BruteForce brute = brute_force(made, limit);
    const Result<JointAnswer> answer = solve(made.problem(limit), {}, made.evaluator());
    ASSERT_EQ(answer.ok(), brute.least_bottleneck_s < kNone) << i;
    if (!answer) {
      EXPECT_EQ(answer.error().code, ErrorCode::kMemoryInfeasible);
      EXPECT_EQ(std::get<std::int64_t>(answer.error().value), brute.least_limit) << i;
      continue;
    }
    SCOPED_TRACE(i);
    ++feasible;
    expect_true_to_itself(made, answer->best, limit);
    expect_best(*answer, brute);
    if (answer->best.makespan_s <= brute.least_makespan_s + kTolerance) ++fastest;
  }
  EXPECT_GT(feasible, 800);
  EXPECT_GE(fastest, feasible - 4);  // not promised, but nearly always
}

}  // namespace
}  // namespace omnibal::joint
