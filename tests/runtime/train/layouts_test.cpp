// SPDX-License-Identifier: Apache-2.0
// Ten steps of the optimizer on models cut and divided in every way, against one rank. Linked once
// with threads and once with MPI.
#include <gtest/gtest.h>

#include "runtime/train/small_training.h"

namespace omnibal::runtime {
namespace {

using namespace small_training;

class RuntimeLayouts : public testing::TestWithParam<std::tuple<Model, Case>> {};

TEST_P(RuntimeLayouts, TenStepsAreThoseOfOneRank) {
  const auto& [model, layout] = GetParam();
  Case chosen = layout;
  chosen.rules = model.rules;
  if (!can_run(chosen.layout.num_ranks())) GTEST_SKIP() << "another number of processes";
  const Outcome one = train({.layout = {}, .rules = model.rules}, model.json, nullptr);
  const Outcome several = train(chosen, model.json, &one);
  ASSERT_EQ(one.losses.size(), kSteps);
  ASSERT_EQ(several.losses.size(), kSteps);
  EXPECT_LT(one.losses.back(), one.losses.front());
  for (std::size_t i = 0; i < kSteps; ++i) {
    EXPECT_NEAR(several.losses[i], one.losses[i], 1e-12 * one.losses[i]);
    EXPECT_NEAR(several.norms[i], one.norms[i], 1e-9 * one.norms[i]);
  }
}

std::string name_of(const testing::TestParamInfo<std::tuple<Model, Case>>& info) {
  const auto& [model, chosen] = info.param;
  return model.name + "Dp" + std::to_string(chosen.layout.dp) + "Pp" +
         std::to_string(chosen.layout.pp) + "Tp" + std::to_string(chosen.layout.tp) + "Cut" +
         std::to_string(chosen.cut);
}

INSTANTIATE_TEST_SUITE_P(All, RuntimeLayouts,
                         testing::Combine(testing::ValuesIn(kModels), testing::ValuesIn(kLayouts)),
                         name_of);

}  // namespace
}  // namespace omnibal::runtime
