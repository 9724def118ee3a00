// SPDX-License-Identifier: Apache-2.0
//
// Peaks of whatever profile and number of micro-batches are asked for: right, or refused.
#include <gmock/gmock.h>

#include "omnibal/plan/model_balance.h"
#include "plan/small_plan.h"

namespace omnibal::plan {
namespace {

/// Two layers that keep `activation_bytes` each for every micro-batch in flight.
cost::Profile two_layers(double activation_bytes) {
  cost::Profile profile;
  profile.layers.resize(2);
  for (cost::LayerProfile& layer : profile.layers) {
    layer.forward_s.constant = 1;
    layer.activation_bytes.constant = activation_bytes;
  }
  return profile;
}

constexpr std::int32_t kMicroBatches = 1 << 14;

ModelBalanceRequest gpipe() {
  ModelBalanceRequest request;
  request.num_stages = 2;
  request.num_micro_batches = kMicroBatches;
  request.schedule = schedule::ScheduleKind::kGPipe;
  request.method = PartitionMethod::kMinMax;
  return request;
}

TEST(CountableBytes, ThePeakOfAPartitionIsRight) {
  const auto balance = balance_model(two_layers(1e14), gpipe());
  ASSERT_TRUE(balance.ok()) << to_text(balance.error());
  EXPECT_EQ(balance->stages[0].peak_bytes, 100'000'000'000'000 * std::int64_t{kMicroBatches});
}

TEST(CountableBytes, APartitionWhosePeakWouldWrapAroundIsRefused) {
  const auto balance = balance_model(two_layers(1e15), gpipe());
  ASSERT_FALSE(balance.ok());
  EXPECT_EQ(balance.error().code, ErrorCode::kOutOfRange);
}

TEST(CountableBytes, APlanWhosePeakWouldWrapAroundIsRefused) {
  const corpus::Corpus corpus = small_corpus();
  PlanRequest request = small_request();
  const auto plan = plan_small(corpus, request);
  ASSERT_TRUE(plan.ok());
  request.profile = plan->profile;
  request.profile->layers[7].static_bytes.per_token_pair = 1e15;
  const auto refused = plan_small(corpus, request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(refused.error().where.key, "layers[7]");
}

}  // namespace
}  // namespace omnibal::plan
