// SPDX-License-Identifier: Apache-2.0
#include "omnibal/simulate/step_report.h"

#include <gmock/gmock.h>

#include "codec/scratch_directory.h"

namespace omnibal::simulate {
namespace {

cost::Profile token_profile() {
  cost::Profile profile;
  profile.layers.resize(2);
  for (cost::LayerProfile& layer : profile.layers) {
    layer.forward_s = layer.input_grad_s = layer.weight_grad_s = {0, 0, 1, 0};
    layer.activation_bytes = {0, 0, 1, 0};
  }
  return profile;
}

TEST(StepReport, GivesEveryRankItsOwnLoads) {
  const cost::Profile profile = token_profile();
  const partition::Cuts cuts{LayerIndex{1}};
  const auto schedule = *schedule::make_schedule(schedule::ScheduleKind::kOneFOneB, 2, 1);
  const Result<StepReport> report =
      report_step({profile, cuts, {}, schedule, {{{0, 1, 0}}, {{0, 3, 0}}}, {}});
  ASSERT_TRUE(report.ok());
  // Stage 0 has no input gradient: 1 + 1 + 2 + 1 token-seconds, and three times that.
  EXPECT_DOUBLE_EQ(report->step.makespan_s, 15);
  EXPECT_DOUBLE_EQ(report->step.breakdown.rank_imbalance_s, 4 * 5);
  EXPECT_EQ(report->peak_bytes, (std::vector<std::int64_t>{1, 1, 3, 3}));
  ASSERT_EQ(report->timelines.size(), 2U);
  EXPECT_DOUBLE_EQ(report->timelines[0].makespan_s, 5);
}

TEST(StepReport, RefusesCountsThatDisagree) {
  const cost::Profile profile = token_profile();
  const auto schedule = *schedule::make_schedule(schedule::ScheduleKind::kOneFOneB, 2, 1);
  EXPECT_EQ(report_step({profile, {}, {}, schedule, {{{0, 1, 0}}}, {}}).error().code,
            ErrorCode::kInvalidArgument);
  const partition::Cuts cuts{LayerIndex{1}};
  EXPECT_EQ(report_step({profile, cuts, {}, schedule, {{{0, 1, 0}, {}}}, {}}).error().code,
            ErrorCode::kInvalidArgument);
}

TEST(StepReport, RefusesBytesThatCannotBeSummed) {
  cost::Profile profile = token_profile();
  profile.layers[1].activation_bytes.per_token = 1e15;
  const partition::Cuts cuts{LayerIndex{1}};
  const auto schedule = *schedule::make_schedule(schedule::ScheduleKind::kOneFOneB, 2, 2);
  const auto fits = report_step({profile, cuts, {}, schedule, {{{0, 1000, 0}, {}}}, {}});
  ASSERT_TRUE(fits.ok());
  EXPECT_EQ(fits->peak_bytes[1], 1'000'000'000'000'000'000);
  EXPECT_EQ(report_step({profile, cuts, {}, schedule, {{{0, 1e6, 0}, {}}}, {}}).error().code,
            ErrorCode::kOutOfRange);
}

TEST(ReadLoads, GivesOneLoadARow) {
  const ScratchDirectory scratch;
  const std::string path =
      scratch.write("loads.json", R"([{"vision_units": 9, "tokens": 4096, "token_pairs": 5000000},
                        {"vision_units": 0, "tokens": 1, "token_pairs": 1}])");
  const Result<std::vector<cost::Load>> loads = read_loads(path);
  ASSERT_EQ(loads->size(), 2U);
  EXPECT_EQ((*loads)[0].token_pairs, 5e6);
  EXPECT_EQ((*loads)[1].vision_units, 0);
}

TEST(ReadLoads, NamesTheRowThatIsWrong) {
  const ScratchDirectory scratch;
  const auto problem = [&](std::string_view text) {
    const auto loads = read_loads(scratch.write("loads.json", text));
    EXPECT_FALSE(loads.ok()) << text;
    return loads.error();
  };
  EXPECT_EQ(problem("{}").code, ErrorCode::kWrongType);
  EXPECT_EQ(problem("[]").code, ErrorCode::kEmptyInput);
  EXPECT_EQ(problem("[3]").code, ErrorCode::kWrongType);
  EXPECT_EQ(problem("[3]").where.row, 0);
  const Error missing = problem(R"([{"vision_units": 9, "tokens": 4096}])");
  EXPECT_EQ(missing.code, ErrorCode::kMissingKey);
  EXPECT_THAT(missing.where.key, testing::HasSubstr("token_pairs"));
  const Error negative = problem(R"([{"vision_units": 9, "tokens": 1, "token_pairs": 1},
                  {"vision_units": 9, "tokens": -1, "token_pairs": 1}])");
  EXPECT_EQ(negative.code, ErrorCode::kOutOfRange);
  EXPECT_EQ(negative.where.row, 1);
  EXPECT_EQ(problem(R"([{"vision_units": 9, "tokens": 2e9, "token_pairs": 1}])").code,
            ErrorCode::kOutOfRange);
  EXPECT_EQ(problem(R"([{"vision_units": 9, "tokens": 1, "token_pairs": 1, "pairs": 2}])").code,
            ErrorCode::kUnknownKey);
}

}  // namespace
}  // namespace omnibal::simulate
