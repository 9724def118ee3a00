// SPDX-License-Identifier: Apache-2.0
#include "cost/tensor_parallel.h"

#include <gtest/gtest.h>

namespace omnibal::cost {
namespace {

Profile profile_at(std::int64_t tp, bool tensor_links, HeadPolicy heads = HeadPolicy::kPad) {
  const auto model = model::load_model("internvl-chat-1.5-26b");
  const auto cluster = cluster::load_cluster("a100-80g");
  return *analytic_profile(*model, *cluster,
                           {.tp = tp, .heads = heads, .tensor_links = tensor_links});
}

TEST(TensorParallel, UpToTwoIsInsideTheFittedRate) {
  for (const std::int64_t tp : {1, 2}) {
    const Profile without = profile_at(tp, false);
    const Profile with = profile_at(tp, true);
    for (std::size_t i = 0; i < with.layers.size(); ++i) {
      EXPECT_EQ(with.layers[i].forward_s, without.layers[i].forward_s);
    }
  }
}

/// A block of InternLM2-20B sums two tensors of 6144 bf16 values a token: over eight devices 1.75
/// of them pass a hop of 300 GB/s, over two 1.
TEST(TensorParallel, BeyondTwoABlockTakesTheRingsExcess) {
  const Profile without = profile_at(8, false);
  const Profile with = profile_at(8, true);
  const std::size_t block = 60;
  ASSERT_EQ(with.layers[block].kind, model::LayerKind::kLlmBlock);
  const double excess = 0.75 * 2 * 2 * 6144 / 300e9;
  for (const auto part :
       {&LayerProfile::forward_s, &LayerProfile::input_grad_s, &LayerProfile::recompute_s}) {
    EXPECT_NEAR((with.layers[block].*part).per_token - (without.layers[block].*part).per_token,
                excess, 1e-15);
  }
  EXPECT_EQ(with.layers[block].weight_grad_s, without.layers[block].weight_grad_s);
}

TEST(TensorParallel, ReplicatedHeadsSumOnce) {
  const auto model = model::load_model("internvl-chat-1.5-26b");
  const auto bytes = [&](HeadPolicy heads) {
    return all_reduced_bytes(*model, model::LayerKind::kVisionBlock, {.tp = 4, .heads = heads})
        .per_vision_unit;
  };
  EXPECT_DOUBLE_EQ(bytes(HeadPolicy::kReplicate), 1025.0 * 3200 * 2);
  EXPECT_DOUBLE_EQ(bytes(HeadPolicy::kPad), 2 * 1025.0 * 3200 * 2);
}

}  // namespace
}  // namespace omnibal::cost
