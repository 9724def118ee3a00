// SPDX-License-Identifier: Apache-2.0
#include "omnibal/steps/step_summary.h"

#include <gtest/gtest.h>

namespace omnibal::steps {
namespace {

TEST(StepSummary, CountsSamplesOfEachStep) {
  const std::vector<std::int64_t> offsets = {0, 1, 3, 6};
  const std::vector<std::uint32_t> members = {0, 1, 2, 3, 4, 5};
  const std::vector<metrics::PackLoad> loads = {{1, 100, 10}, {2, 100, 10}, {4, 50, 10}};
  StepTable table;
  table.num_steps = 2;
  table.micro_batches = 1;
  table.dp = 2;
  table.pack_ids = {0, 1, 2, kZeroWeightPack};
  table.zero_weight_packs = 1;
  cost::LinearCost forward;
  forward.per_token = 1;
  const codec::Json json = to_json(summarize_steps(table, {offsets, members}, loads, forward));
  // Steps of 1 + 2 and 3 samples; the second row has a zero-weight pack and counts in no ratio.
  EXPECT_EQ(json.dump(), R"({"count":2,"micro_batches":1,"zero_weight_packs":1,)"
                         R"("samples_per_step":{"mean":3.0,"std":0.0},)"
                         R"("dist_ratio":{"vision":0.25,"tokens":0.0,"attention":0.0,"time":0.0},)"
                         R"("vision_idle_groups":0})");
}

TEST(StepSummary, SpreadIsThatOfThePopulation) {
  const std::vector<std::int64_t> offsets = {0, 1, 6};
  const std::vector<std::uint32_t> members = {0, 1, 2, 3, 4, 5};
  const std::vector<metrics::PackLoad> loads(2);
  StepTable table;
  table.num_steps = 2;
  table.micro_batches = 1;
  table.dp = 1;
  table.pack_ids = {0, 1};
  const StepSummary summary = summarize_steps(table, {offsets, members}, loads, {});
  EXPECT_DOUBLE_EQ(summary.samples_per_step.mean, 3);
  EXPECT_DOUBLE_EQ(summary.samples_per_step.std, 2);
}

}  // namespace
}  // namespace omnibal::steps
