// SPDX-License-Identifier: Apache-2.0
#include "omnibal/cost/linear_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace omnibal::cost {
namespace {

constexpr FitTerms kAll = {.vision_unit = true, .token = true, .token_pair = true};

const std::vector<Load> kLoads = {{0, 100, 10000},  {9, 4096, 4.0e6}, {3, 2000, 4.0e6},
                                  {1, 3000, 1.5e6}, {5, 512, 2.6e5},  {9, 4096, 1.6e7},
                                  {12, 3800, 2.0e6}};

std::vector<double> values_of(const LinearCost& cost, const std::vector<Load>& loads) {
  std::vector<double> values;
  for (const Load& load : loads) values.push_back(cost.at(load));
  return values;
}

void expect_near(const LinearCost& found, const LinearCost& expected, double relative) {
  EXPECT_NEAR(found.constant, expected.constant, relative * std::abs(expected.constant));
  EXPECT_NEAR(found.per_vision_unit, expected.per_vision_unit,
              relative * std::abs(expected.per_vision_unit));
  EXPECT_NEAR(found.per_token, expected.per_token, relative * std::abs(expected.per_token));
  EXPECT_NEAR(found.per_token_pair, expected.per_token_pair,
              relative * std::abs(expected.per_token_pair));
}

TEST(LinearFit, FindsTheCostThatMadeTheValues) {
  const LinearCost cost{1e-3, 3e-4, 2e-6, 5e-10};
  const LinearFit fit = fit_linear_cost(kLoads, values_of(cost, kLoads), kAll);
  expect_near(fit.cost, cost, 1e-6);
  EXPECT_LT(fit.residual, 1e-9);
}

TEST(LinearFit, HasNoTermBesidesThoseThatItMayHave) {
  const std::vector<double> values = values_of({.per_token = 2e-6}, kLoads);
  const LinearFit fit = fit_linear_cost(kLoads, values, {.vision_unit = true});
  EXPECT_EQ(fit.cost.per_token, 0);
  EXPECT_EQ(fit.cost.per_token_pair, 0);
  EXPECT_GT(fit.residual, 0.05);
}

TEST(LinearFit, LeavesOutATermThatWouldBeNegative) {
  // Unconstrained: -1 + 2 units. The best without a negative term goes through 0: 22 / 14.
  const std::vector<Load> loads = {{1, 0, 0}, {2, 0, 0}, {3, 0, 0}};
  const LinearFit fit = fit_linear_cost(loads, std::vector<double>{1, 3, 5}, kAll);
  EXPECT_EQ(fit.cost.constant, 0);
  EXPECT_NEAR(fit.cost.per_vision_unit, 22.0 / 14, 1e-12);
  const double missed = (1 + 9 + 25) - 22.0 * 22 / 14;
  EXPECT_NEAR(fit.residual, std::sqrt(missed / 35), 1e-12);
}

TEST(LinearFit, LoadsAllAlikeGiveTheirOwnTermAndNoConstant) {
  const std::vector<Load> loads(4, Load{2, 100, 5000});
  const LinearFit fit =
      fit_linear_cost(loads, std::vector<double>(4, 10.0), {.constant = true, .token = true});
  EXPECT_EQ(fit.cost.constant, 0);
  EXPECT_NEAR(fit.cost.per_token, 0.1, 1e-12);
}

TEST(LinearFit, NoLoadAtAllCostsAConstant) {
  const std::vector<Load> loads(3);
  const LinearFit fit = fit_linear_cost(loads, std::vector<double>{1, 2, 3}, kAll);
  EXPECT_EQ(fit.cost, LinearCost{.constant = 2});
}

TEST(LinearFit, NothingCostsNothing) {
  const LinearFit fit = fit_linear_cost(kLoads, std::vector<double>(kLoads.size(), 0.0), kAll);
  EXPECT_TRUE(fit.cost.is_zero());
  EXPECT_EQ(fit.residual, 0);
}

}  // namespace
}  // namespace omnibal::cost
