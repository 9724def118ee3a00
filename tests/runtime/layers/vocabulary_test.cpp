// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/layers/vocabulary.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>

#include "layers/weight_gradient.h"
#include "omnibal/runtime/comm/thread_ranks.h"
#include "omnibal/runtime/optimizer/optimizer.h"

namespace omnibal::runtime {
namespace {

/// Reproducible values between -1 and 1.
at::Tensor spread(at::IntArrayRef shape, at::ScalarType type) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return (at::arange(count, at::dtype(at::kDouble)) * 0.7).sin().view(shape).to(type);
}

struct Loss {
  at::Tensor value, gradient;
};

Loss loss_of(const at::Tensor& logits, const at::Tensor& labels, const at::Tensor& weights) {
  // The loss works in its input's memory.
  const at::Tensor leaf = logits.clone().set_requires_grad(true);
  const at::Tensor value = weighted_cross_entropy(leaf + 0, labels, weights, 0, nullptr);
  value.backward();
  return {value.detach(), leaf.grad()};
}

TEST(RuntimeVocabulary, RowsOfSeveralBlocksAreAsEachAlone) {
  at::set_num_threads(1);
  const std::int64_t rows = 40, words = 20000;  // blocks of 13 rows
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const at::Tensor logits = spread({rows, words}, type) * 3;
    const at::Tensor labels = at::arange(rows, at::dtype(at::kLong)) * 499;
    const at::Tensor weights = spread({rows}, at::kFloat);
    const Loss all = loss_of(logits, labels, weights);
    double sum = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto own = [&](const at::Tensor& of) { return of.narrow(0, row, 1); };
      const Loss one = loss_of(own(logits), own(labels), own(weights));
      sum += one.value.item<double>();
      EXPECT_TRUE(at::equal(own(all.gradient), one.gradient)) << row;
    }
    EXPECT_NEAR(all.value.item<double>(), sum, 1e-5 * std::abs(sum));
  }
}

TEST(RuntimeVocabulary, AnOptimizersGradientGetsTheRowsThatATableWouldGet) {
  at::set_num_threads(1);
  const at::Tensor ids = (at::arange(30, at::dtype(at::kLong)) * 7).remainder(11);  // repeated
  const at::Tensor factors = spread({30, 4}, at::kFloat);
  const at::Tensor table = spread({50, 4}, at::kFloat).set_requires_grad(true);
  (embed(ids, table, 0) * factors).sum().backward();
  const at::Tensor expected = table.grad().clone();
  EXPECT_FALSE(expected.is_sparse());
  const auto world = make_thread_world(1);
  TrainedParameter trained;
  trained.name = "table";
  trained.tensor = table;
  const auto optimizer =
      Optimizer::make({trained}, {.groups = {{}}}, *world.front(), *world.front());
  ASSERT_TRUE(optimizer.ok());
  for (int backwards = 1; backwards <= 2; ++backwards) {
    (embed(ids, table, 0) * factors).sum().backward();
    EXPECT_FALSE(table.grad().is_sparse());
    const at::Tensor difference = table.grad() - expected * backwards;
    EXPECT_LE(difference.norm().item<double>(), 1e-6 * expected.norm().item<double>());
  }
}

TEST(RuntimeWeightGradient, IsWidenedAsItIsAdded) {
  const at::Tensor gradient = spread({7, 33}, at::kBFloat16);
  const at::Tensor sum = spread({7, 33}, at::kFloat) + 1;
  const at::Tensor expected = sum + gradient.to(at::kFloat);
  add_to_gradient(sum, gradient);
  EXPECT_TRUE(at::equal(sum, expected));
}

TEST(RuntimeWeightGradient, IsReturnedWhereNoneIsWider) {
  const at::Tensor weight = spread({3, 5}, at::kFloat).set_requires_grad(true);
  const at::Tensor gradient = at::ones({3, 5});
  EXPECT_TRUE(returned_gradient(weight, gradient).defined());
  weight.mutable_grad() = at::zeros({3, 5});
  EXPECT_TRUE(returned_gradient(weight, gradient).defined());
  EXPECT_EQ(weight.grad().sum().item<double>(), 0);
}

}  // namespace
}  // namespace omnibal::runtime
