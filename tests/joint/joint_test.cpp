// SPDX-License-Identifier: Apache-2.0
#include "omnibal/joint/joint.h"

#include <gmock/gmock.h>

#include "joint/made_problem.h"

namespace omnibal::joint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Layers of forward 1 and backward 2; 10 bytes kept, 1 if recomputed, 5 static.
MadeProblem equal_layers(std::int32_t num_layers, std::int32_t num_stages,
                         std::int32_t num_micro_batches) {
  MadeProblem made;
  for (std::int32_t i = 0; i < num_layers; ++i) {
    cost::LayerProfile& layer = made.profile.layers.emplace_back();
    layer.forward_s.constant = layer.weight_grad_s.constant = layer.recompute_s.constant = 1;
    layer.input_grad_s.constant = 1;
    layer.activation_bytes.constant = 10;
    layer.recomputed_bytes.constant = 1;
    layer.static_bytes.constant = 5;
  }
  made.profile.layers.front().input_grad_s.constant = 0;
  made.profile.layers.front().weight_grad_s.constant = 2;
  made.costs = cost::evaluate(made.profile, {});
  made.layers =
      joint_layers(recompute::bar_layers(made.profile, made.costs), made.costs, made.costs);
  made.schedule =
      *schedule::make_schedule(schedule::ScheduleKind::kOneFOneB, num_stages, num_micro_batches);
  made.compiled = *simulate::compile(made.schedule);
  return made;
}

JointAnswer solved(const MadeProblem& made, const JointProblem& problem) {
  Result<JointAnswer> answer = solve(problem, {}, made.evaluator());
  EXPECT_TRUE(answer.ok()) << answer.error().message;
  return *std::move(answer);
}

std::vector<std::int32_t> cuts_of(const JointAnswer& answer) {
  return partition::first_layers(answer.best.cuts);
}

TEST(JointSolve, EqualLayersAreCutEvenlyAndTheCertificateSaysSo) {
  const MadeProblem made = equal_layers(12, 4, 8);
  const JointAnswer answer = solved(made, made.problem(std::nullopt));
  EXPECT_THAT(cuts_of(answer), ElementsAre(3, 6, 9));
  EXPECT_TRUE(answer.certificate.proven);
  EXPECT_DOUBLE_EQ(answer.certificate.lower_bound_s, 9);
  EXPECT_DOUBLE_EQ(answer.certificate.gap, 0);
  EXPECT_DOUBLE_EQ(answer.best.makespan_s, (8 + 3) * 9);
  EXPECT_DOUBLE_EQ(answer.certificate.makespan_bound_s, (8 + 3) * 9);
}

TEST(JointSolve, EveryCutSaysWhatMovingItWouldCost) {
  const MadeProblem made = equal_layers(9, 3, 6);
  // Stage 0 keeps three micro-batches: 15 + 3 x 30 + 0. One layer more does not fit even
  // recomputed.
  const std::int64_t limit = 4 * 5 + 3 * (10 + 3 * 1) + 10 - 1;
  const JointAnswer answer = solved(made, made.problem(limit));
  ASSERT_EQ(answer.certificate.cuts.size(), 2U);
  for (const CutReason& reason : answer.certificate.cuts) {
    for (const auto& [move, at] : {std::pair(reason.left, reason.cut.value() - 1),
                                   std::pair(reason.right, reason.cut.value() + 1)}) {
      partition::Cuts cuts = answer.best.cuts;
      std::ranges::replace(cuts, reason.cut, LayerIndex{at});
      const Result<LayerChoices> choices = choose_recomputation(made.problem(limit), cuts);
      ASSERT_TRUE(move.allowed);
      ASSERT_EQ(move.fits, choices.ok());
      if (!move.fits) {
        EXPECT_GT(move.peak_bytes, limit);
        continue;
      }
      EXPECT_LE(move.peak_bytes, limit);
      EXPECT_DOUBLE_EQ(move.makespan_s, made.evaluator()(cuts, *choices));
      EXPECT_GE(move.makespan_s, answer.best.makespan_s);
    }
  }
}

TEST(JointSolve, TooLittleMemorySaysWhatWouldDo) {
  const MadeProblem made = equal_layers(8, 2, 4);
  // Four layers recomputed on stage 0: 20 static, 2 x 4 kept, 10 while one of them runs.
  const Result<JointAnswer> answer = solve(made.problem(37), {}, made.evaluator());
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::kMemoryInfeasible);
  EXPECT_EQ(std::get<std::int64_t>(answer.error().value), 38);
  EXPECT_EQ(answer.error().where.key, "stages[0].peak_bytes");
  EXPECT_THAT(answer.error().message, HasSubstr("misses 1 byte ("));
  EXPECT_THAT(answer.error().hint, HasSubstr("raise --memory to 38 bytes"));
  EXPECT_THAT(answer.error().hint, HasSubstr("use 3 stages"));
  EXPECT_EQ(*least_memory_limit(made.problem(std::nullopt)), 38);
  EXPECT_TRUE(solve(made.problem(38), {}, made.evaluator()).ok());
}

TEST(JointSolve, ConstraintsMoveTheCuts) {
  const MadeProblem made = equal_layers(12, 2, 4);
  JointProblem problem = made.problem(std::nullopt);
  problem.constraints.forbidden_cuts = {LayerIndex{6}};
  EXPECT_THAT(cuts_of(solved(made, problem)), testing::AnyOf(ElementsAre(5), ElementsAre(7)));
  problem.constraints.keep_together = {{LayerIndex{8}, LayerIndex{3}}};
  EXPECT_THAT(cuts_of(solved(made, problem)), testing::AnyOf(ElementsAre(3), ElementsAre(9)));
}

TEST(JointSolve, StagesBearWhatStandsBesideTheirLayers) {
  const MadeProblem made = equal_layers(12, 2, 4);
  JointProblem problem = made.problem(std::nullopt);
  problem.constraints.last_stage.seconds = 6;  // two layers' work
  EXPECT_DOUBLE_EQ(solved(made, problem).certificate.lower_bound_s, 21);
  problem.constraints.last_stage.seconds = 0;
  problem.memory_limit_bytes = 12 * 15;
  problem.constraints.first_stage.bytes =
      12 * 15 - 40;  // four layers fit beside it: 4 x (5 + 2 x 1) + 10
  EXPECT_THAT(cuts_of(solved(made, problem)), ElementsAre(4));
}

TEST(JointSolve, UniformCutsAreEvenWhateverTheyCost) {
  MadeProblem made = equal_layers(9, 3, 6);
  made.layers.front().forward_s = 10;
  JointProblem problem = made.problem(std::nullopt);
  const JointAnswer free = solved(made, problem);
  problem.constraints.restriction = Restriction::kUniform;
  const JointAnswer uniform = solved(made, problem);
  EXPECT_THAT(cuts_of(uniform), ElementsAre(3, 6));
  EXPECT_GT(uniform.best.makespan_s, free.best.makespan_s);
}

TEST(JointSolve, MegatronNeedsALanguageModel) {
  MadeProblem made = equal_layers(6, 2, 4);
  for (JointLayer& layer : made.layers) layer.layer_class = recompute::LayerClass::kVision;
  JointProblem problem = made.problem(std::nullopt);
  problem.constraints.restriction = Restriction::kMegatron;
  EXPECT_EQ(solve(problem, {}, made.evaluator()).error().code, ErrorCode::kInvalidArgument);
}

TEST(JointSolve, ConstraintsThatLeaveNoCutsAreRefused) {
  const MadeProblem made = equal_layers(6, 3, 4);
  JointProblem problem = made.problem(std::nullopt);
  problem.constraints.keep_together = {{LayerIndex{0}, LayerIndex{4}}};
  const Result<JointAnswer> refused = solve(problem, {}, made.evaluator());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kTooManyStages);
  EXPECT_EQ(refused.error().where.key, "keep_together");
  EXPECT_THAT(refused.error().message, HasSubstr("leave 1 place to cut, 3 stages need 2"));
  EXPECT_THAT(refused.error().hint, HasSubstr("--keep-together"));
  problem.constraints.forbidden_cuts = {LayerIndex{5}};
  const Error none = solve(problem, {}, made.evaluator()).error();
  EXPECT_THAT(none.message, HasSubstr("leave 0 places to cut"));
  EXPECT_THAT(none.hint, HasSubstr("--keep-together or --forbid-cut"));
  problem.constraints.keep_together = {{LayerIndex{0}, LayerIndex{6}}};
  EXPECT_THAT(solve(problem, {}, made.evaluator()).error().message, HasSubstr("no layer 6"));
}

TEST(JointSolve, MessagesSayWhatWasLeftToChoose) {
  MadeProblem made = equal_layers(6, 3, 4);
  JointProblem problem = made.problem(15);
  EXPECT_THAT(solve(problem, {}, made.evaluator()).error().message,
              HasSubstr("even with the best cuts and recomputation it misses"));
  problem.constraints.recompute_everything = true;
  EXPECT_THAT(solve(problem, {}, made.evaluator()).error().message,
              HasSubstr("the best cuts, everything recomputed,"));
  problem.constraints.recompute_everything = false;
  for (JointLayer& layer : made.layers) layer.choices.clear();
  const Error error = solve(problem, {}, made.evaluator()).error();
  EXPECT_THAT(error.message, HasSubstr("the best cuts, nothing recomputed,"));
  EXPECT_THAT(error.hint, HasSubstr("--recompute none"));
}

TEST(JointSolve, EverythingRecomputesIfItMust) {
  const MadeProblem made = equal_layers(8, 2, 4);
  JointProblem problem = made.problem(std::nullopt);
  problem.constraints.recompute_everything = true;
  const JointAnswer answer = solved(made, problem);
  EXPECT_THAT(answer.best.choices, testing::Each(1));
  EXPECT_DOUBLE_EQ(answer.certificate.lower_bound_s, 16);
}

TEST(JointSolve, TheEvaluatorDecidesWhereMicroBatchesDiffer) {
  // Whatever stage times say, this step is fastest with the cut at layer 3.
  const MadeProblem made = equal_layers(8, 2, 4);
  const auto distance_to_three = [](const partition::Cuts& cuts, const LayerChoices&) {
    return 1.0 + std::abs(cuts.front().value() - 3);
  };
  JointOptions options;
  options.alike = false;
  const Result<JointAnswer> answer = solve(made.problem(std::nullopt), options, distance_to_three);
  ASSERT_TRUE(answer.ok());
  EXPECT_THAT(cuts_of(*answer), ElementsAre(3));
  EXPECT_DOUBLE_EQ(answer->certificate.lower_bound_s, 12);
  EXPECT_NEAR(answer->certificate.gap, 0.25, 1e-12);
}

TEST(JointSolve, RecomputationMovesToWhateverTheEvaluatorFindsFaster) {
  // Two kinds, of which the first recomputes in less time; but not in this step.
  MadeProblem made = equal_layers(8, 1, 4);
  for (std::size_t i = 4; i < 8; ++i) made.layers[i].choices = {{2.0, 0}};
  const auto count_first_kind = [](const partition::Cuts&, const LayerChoices& choices) {
    return 1.0 + static_cast<double>(std::count(choices.begin(), choices.begin() + 4, 1));
  };
  JointOptions options;
  options.alike = false;
  // 40 static, 80 kept by the one micro-batch in flight; two layers must recompute.
  const JointProblem problem = made.problem(40 + 80 - 18 + 10);
  const Result<JointAnswer> answer = solve(problem, options, count_first_kind);
  ASSERT_TRUE(answer.ok());
  EXPECT_DOUBLE_EQ(answer->best.makespan_s, 1);
  EXPECT_EQ(std::count(answer->best.choices.begin() + 4, answer->best.choices.end(), 1), 2);
  EXPECT_DOUBLE_EQ(answer->best.bottleneck_s, 24 + 4);
  EXPECT_DOUBLE_EQ(answer->certificate.lower_bound_s, 24 + 2);
}

TEST(JointSolve, RefusesMoreStagesThanLayers) {
  const MadeProblem made = equal_layers(4, 4, 4);
  JointProblem problem = made.problem(std::nullopt);
  problem.num_stages = 5;
  EXPECT_EQ(solve(problem, {}, made.evaluator()).error().code, ErrorCode::kTooManyStages);
}

}  // namespace
}  // namespace omnibal::joint
