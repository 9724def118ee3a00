// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/worst_pack.h"

#include <gtest/gtest.h>

#include "omnibal/plan/comparison.h"
#include "plan/small_plan.h"

namespace omnibal::plan {
namespace {

constexpr cost::LinearCost kBytes{
    .constant = 10, .per_vision_unit = 1000, .per_token = 2, .per_token_pair = 0};

TEST(WorstPack, D08ThePackAtBothLimitsIsNamedAndRunsFirst) {
  std::vector<metrics::PackLoad> loads(9999, {1, 300, 90000});
  loads.insert(loads.begin() + 4321, {9, 4096, 4096 * 4096});
  const std::int64_t pack = heaviest_pack(loads, kBytes);
  EXPECT_EQ(pack, 4321);
  const auto table = steps::form_steps(loads, {.dp = 8, .micro_batches = 16, .first_pack = pack});
  ASSERT_TRUE(table.ok());
  const WorstPack worst = worst_pack(pack, loads, *table, kBytes);
  EXPECT_EQ(worst.activation_bytes, 10 + 9 * 1000 + 4096 * 2);
  ASSERT_TRUE(worst.place.has_value());
  EXPECT_EQ(worst.place->step, 0);
  EXPECT_EQ(worst.place->micro_batch, 0);
  EXPECT_EQ(table->at(0, 0, worst.place->rank), pack);
  EXPECT_EQ(to_json(worst)["step"], 0);
}

TEST(WorstPack, SaysWhereItRunsIfItIsNotFirst) {
  const std::vector<metrics::PackLoad> loads = {{1, 100, 1}, {1, 100, 1}, {2, 100, 1}};
  steps::StepTable table;
  table.num_steps = 2;
  table.micro_batches = 2;
  table.dp = 1;
  table.pack_ids = {0, 1, -1, 2};
  const WorstPack worst = worst_pack(heaviest_pack(loads, kBytes), loads, table, kBytes);
  EXPECT_EQ(worst.pack, 2);
  EXPECT_EQ(worst.place->step, 1);
  EXPECT_EQ(worst.place->micro_batch, 1);
  EXPECT_EQ(worst.place->rank, 0);
}

TEST(WorstPack, ThatIsLeftOutHasNoPlace) {
  steps::StepTable table;
  table.num_steps = 1;
  table.micro_batches = 1;
  table.dp = 1;
  table.pack_ids = {0};
  const std::vector<metrics::PackLoad> loads = {{1, 100, 1}, {2, 100, 1}};
  EXPECT_TRUE(to_json(worst_pack(1, loads, table, kBytes))["step"].is_null());
}

TEST(WorstPack, OfEqualOnesIsTheFirst) {
  const std::vector<metrics::PackLoad> loads(5, {3, 100, 1});
  EXPECT_EQ(heaviest_pack(loads, kBytes), 0);
  EXPECT_EQ(heaviest_pack(loads, {}), 0);
}

TEST(ActivationBytes, FrozenLayersBeforeAllTrainableOnesKeepNone) {
  cost::Profile profile;
  for (const bool trainable : {false, true, false}) {
    cost::LayerProfile layer;
    layer.trainable = trainable;
    layer.activation_bytes.per_token = 100;
    profile.layers.push_back(layer);
  }
  EXPECT_EQ(activation_bytes_of(profile).per_token, 200);
}

TEST(ActivationBytes, AgreeWithTheLayersOfTheReferenceModel) {
  const auto plan = plan_small(small_corpus(), small_request());
  ASSERT_TRUE(plan.ok());
  const cost::LinearCost bytes = activation_bytes_of(plan->profile);
  const cost::Load load{9, 4096, 4e6};
  double sum = 0;
  for (const cost::LayerCost& layer : cost::evaluate(plan->profile, load)) {
    sum += static_cast<double>(layer.activation_bytes);
  }
  EXPECT_NEAR(bytes.at(load), sum, 100);
  EXPECT_EQ(plan->data.worst->pack, heaviest_pack(plan->data.loads, bytes));
}

}  // namespace
}  // namespace omnibal::plan
