// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "runtime/model/sample_model.h"

namespace omnibal::runtime {
namespace {

std::int64_t elements(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

void expect_the_planners_counts(const std::string& json, std::int64_t final_norm) {
  const ScratchDirectory scratch;
  const ModelConfig config = sample_config(scratch, json);
  std::map<std::int64_t, std::int64_t> counted;
  for (const Parameter& parameter : describe_parameters(config)) {
    if (parameter.reachable) counted[parameter.layer] += elements(parameter.shape);
  }
  for (std::size_t i = 0; i < config.spec.layers.size(); ++i) {
    const model::Layer& layer = config.spec.layers[i];
    const std::int64_t beside = layer.kind == model::LayerKind::kProjector ? final_norm : 0;
    EXPECT_EQ(counted[static_cast<std::int64_t>(i)], layer.parameters + beside) << layer.name;
  }
}

TEST(RuntimeParameters, AreAsManyInEachLayerAsThePlannerCounts) {
  // The planner leaves out the norm behind the tower: the projector has it here.
  expect_the_planners_counts(internvl_json(3, 6, 2, true), 2 * 12);
  expect_the_planners_counts(internvl_json(3, 6, 2, false), 2 * 12);
  expect_the_planners_counts(llava_json(3, 6, 3, true), 0);
  expect_the_planners_counts(llava_json(3, 6, 3, false), 0);
}

class OneOf : public TensorGroup {
 public:
  OneOf(std::int64_t rank, std::int64_t size) : rank_(rank), size_(size) {}
  std::int64_t rank() const override { return rank_; }
  std::int64_t size() const override { return size_; }
  void all_reduce_sum(const at::Tensor&) const override {}
  void all_reduce_max(const at::Tensor&) const override {}
  at::Tensor all_gather(const at::Tensor& part) const override { return part; }
  at::Tensor reduce_scatter(const at::Tensor& whole) const override { return whole; }

 private:
  std::int64_t rank_, size_;
};

/// Every element of every parameter is owned by exactly one rank, which holds it.
void expect_one_owner(const std::string& json, std::int64_t ranks) {
  const ScratchDirectory scratch;
  const ModelConfig config = sample_config(scratch, json);
  const auto end = static_cast<std::int64_t>(config.spec.layers.size());
  std::map<std::string, std::vector<int>> owners;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const OneOf group(rank, ranks);
    const Stage stage = make_stage(config, {.end = end, .group = &group, .describe_only = true});
    for (const Parameter& parameter : stage.parameters) {
      const auto dimension = static_cast<std::size_t>(parameter.split_dimension);
      std::vector<int>& counts = owners[parameter.name];
      counts.resize(static_cast<std::size_t>(parameter.shape[dimension]));
      for (std::int64_t i = parameter.owned.begin; i < parameter.owned.end(); ++i) {
        ++counts[static_cast<std::size_t>(i)];
        EXPECT_GE(i, parameter.held.begin);
        EXPECT_LT(i, parameter.held.end());
      }
      EXPECT_EQ(parameter.tensor.size(parameter.split_dimension), parameter.held.count);
    }
  }
  for (const auto& [name, counts] : owners) EXPECT_THAT(counts, testing::Each(1)) << name;
}

TEST(RuntimeParameters, EachElementHasOneOwner) {
  for (const std::int64_t ranks : {1, 2, 3, 4, 8}) {
    expect_one_owner(internvl_json(3, 6, 2, true), ranks);
    expect_one_owner(llava_json(5, 6, 3, false), ranks);
    expect_one_owner(internvl_json(4, 4, 1, false), ranks);
  }
}

}  // namespace
}  // namespace omnibal::runtime
