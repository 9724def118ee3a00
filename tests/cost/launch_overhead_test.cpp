// SPDX-License-Identifier: Apache-2.0
#include "omnibal/cost/launch_overhead.h"

#include <gtest/gtest.h>

namespace omnibal::cost {
namespace {

TEST(LaunchOverhead, IsAddedToLinearTimesWithoutAConstant) {
  Profile profile;
  profile.layers.resize(1);
  profile.layers[0].forward_s = {.per_token = 2e-6};
  profile.layers[0].weight_grad_s = {.constant = 3e-3, .per_token = 2e-6};  // as measured
  const Profile timed = with_launch_overhead(profile);
  EXPECT_DOUBLE_EQ(timed.layers[0].forward_s.constant, kKernelsPerLayer * kSecondsPerKernel);
  EXPECT_DOUBLE_EQ(timed.layers[0].forward_s.per_token, 2e-6);
  EXPECT_DOUBLE_EQ(timed.layers[0].weight_grad_s.constant, 3e-3);
  EXPECT_TRUE(timed.layers[0].input_grad_s.is_zero());  // no gradient handed on, no kernel
}

}  // namespace
}  // namespace omnibal::cost
