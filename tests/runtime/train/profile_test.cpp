// SPDX-License-Identifier: Apache-2.0
#include <ATen/Parallel.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "omnibal/runtime/model/live_bytes.h"
#include "omnibal/runtime/model/tape.h"
#include "runtime/model/sample_model.h"
#include "train/layer_measure.h"
#include "train/measured_packs.h"
#include "train/measured_profile.h"

namespace omnibal::runtime {
namespace {

using Measures = std::vector<LayerMeasure>;

std::int64_t sum_of(const Measures& layers, std::int64_t LayerMeasure::*bytes) {
  std::int64_t sum = 0;
  for (const LayerMeasure& layer : layers) sum += layer.*bytes;
  return sum;
}

/// What the trainer's tape keeps, with the loss, and the peak until its backward has ended.
std::pair<std::int64_t, std::int64_t> tape_bytes(const Stage& stage, const PreparedBatch& batch,
                                                 bool recompute) {
  const LiveBytes live;
  const Pass pass{batch};
  Tape tape;
  const std::vector<Recompute> choices(stage.layers.size(),
                                       recompute ? Recompute::kEverything : Recompute::kNothing);
  const at::Tensor loss = run_forward(stage, {}, pass, choices, tape);
  const std::int64_t kept = live.now();
  run_backward(stage, at::ones({}, loss.options()), pass, tape);
  return {kept, live.peak()};
}

class RuntimeProfile : public testing::Test {
 protected:
  RuntimeProfile() {
    at::set_num_threads(1);
    write_sample_weights(scratch, config);
    stage = sample_stage(scratch, config, nullptr);
    tape_bytes(stage, batch, false);  // gradients are allocated once
  }

  ScratchDirectory scratch;
  ModelConfig config = sample_config(scratch, internvl_json(3, 4, 2, false));
  Stage stage;
  PreparedBatch batch = sample_batch(config, 3, 40);
};

TEST_F(RuntimeProfile, LayersKeepWhatTheTapeKeeps) {
  const Measures layers = count_layer_bytes(stage, batch, 0);
  const auto pixels = static_cast<std::int64_t>(batch.batch.pixels.nbytes());
  const std::int64_t loss = 8;
  const auto [kept, peak] = tape_bytes(stage, batch, false);
  EXPECT_EQ(sum_of(layers, &LayerMeasure::activation_bytes), kept + pixels - loss);
  const auto [recomputed, recomputed_peak] = tape_bytes(stage, batch, true);
  EXPECT_EQ(sum_of(layers, &LayerMeasure::recomputed_bytes), recomputed + pixels - loss);
}

TEST_F(RuntimeProfile, TransientsAreWhatTheTapeHasOnTop) {
  const Measures layers = count_layer_bytes(stage, batch, 0);
  const auto [recomputed, peak] = tape_bytes(stage, batch, true);
  // Behind the layer the inputs of those before are kept, and the gradient that comes in.
  std::int64_t expected = 0;
  std::int64_t kept = 0;
  for (const LayerMeasure& layer : layers) {
    if (kept > 0) kept += layer.recomputed_bytes;
    if (kept == 0) kept = 8;  // the loss; the first layer's pixels are the batch's
    expected = std::max(expected, kept + layer.transient_bytes + layer.boundary_bytes);
  }
  EXPECT_NEAR(static_cast<double>(peak), static_cast<double>(expected),
              0.02 * static_cast<double>(expected));
}

TEST_F(RuntimeProfile, NothingIsKeptInFrontOfTheFirstTrainedLayer) {
  for (Parameter& parameter : stage.parameters) {
    parameter.tensor.set_requires_grad(parameter.layer >= 2);
  }
  Measures layers = count_layer_bytes(stage, batch, 2);
  time_layers(stage, batch, 2, layers);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    EXPECT_EQ(layers[i].activation_bytes > 0, i >= 2) << i;
    EXPECT_EQ(layers[i].weight_grad_s > 0, i >= 2) << i;
    EXPECT_EQ(layers[i].input_grad_s > 0, i > 2) << i;
    EXPECT_GT(layers[i].forward_s, 0) << i;
    EXPECT_GT(layers[i].recompute_s, 0) << i;
  }
}

BatchMeasure made_up(const cost::Load& load) {
  BatchMeasure measure{load, Measures(7)};
  for (LayerMeasure& layer : measure.layers) {
    layer.forward_s = layer.recompute_s = 1;
    layer.activation_bytes = static_cast<std::int64_t>(100 + 10 * load.vision_units +
                                                       7 * load.tokens + 3 * load.token_pairs);
  }
  measure.layers[0].activation_bytes = static_cast<std::int64_t>(12 * load.vision_units);
  measure.layers[6].weight_grad_s = load.tokens > 10 ? 2 : 1;
  return measure;
}

TEST_F(RuntimeProfile, LayersDependOnWhatTheyAreFed) {
  const std::vector<BatchMeasure> measures = {made_up({1, 10, 60}), made_up({2, 20, 400}),
                                              made_up({5, 24, 300}), made_up({9, 30, 310})};
  const MeasuredProfile fitted = fit_profile(config.spec, measures);
  const std::vector<cost::LayerProfile>& layers = fitted.profile.layers;
  EXPECT_EQ(layers[0].name, "vision.0");
  EXPECT_NEAR(layers[0].activation_bytes.per_vision_unit, 12, 1e-9);
  EXPECT_EQ(fitted.residuals[0].activation_bytes < 1e-9, true);
  EXPECT_EQ(layers[1].activation_bytes.per_token_pair, 0);
  EXPECT_GT(fitted.residuals[1].activation_bytes, 0.1);
  EXPECT_EQ(layers[4].activation_bytes.per_vision_unit, 0);
  EXPECT_NEAR(layers[4].activation_bytes.per_token_pair, 3, 0.5);
  EXPECT_EQ(layers[6].activation_bytes.per_token_pair, 0);
  EXPECT_NEAR(layers[3].forward_s.constant, 1, 1e-9);
  EXPECT_GT(fitted.residual, 0);
  EXPECT_LT(fitted.residual, fitted.residuals[6].weight_grad_s);
}

TEST(RuntimeMeasuredPacks, StandForBothOrdersAndTheirEnds) {
  std::vector<metrics::PackLoad> loads;
  for (std::int64_t i = 0; i < 50; ++i) loads.push_back({(i * 7) % 50, 100, 1000 + i});
  loads[20] = {};  // empty
  const std::vector<std::int64_t> packs = representative_packs(loads, 8);
  EXPECT_TRUE(std::ranges::is_sorted(packs));
  EXPECT_LE(packs.size(), 8);
  EXPECT_GE(packs.size(), 6);
  for (const std::int64_t end : {0, 49, 7 * 7}) EXPECT_TRUE(std::ranges::count(packs, end)) << end;
  EXPECT_EQ(std::ranges::count(packs, 20), 0);
  EXPECT_EQ(representative_packs(std::vector<metrics::PackLoad>(3), 8).size(), 0);
  EXPECT_EQ(representative_packs({loads.data(), 1}, 8), std::vector<std::int64_t>{0});
}

TEST(RuntimeMeasuredPacks, LeadingSamplesHaveTheirOwnTiles) {
  const PackArrays pack = {.samples = {4, 9, 2},
                           .segment_offsets = {0, 3, 8, 10},
                           .ids = {5, 77, 77, 6, 77, 77, 77, 77, 1, 2},
                           .positions = {0, 1, 2, 0, 1, 2, 3, 4, 0, 1},
                           .labels = {-100, -100, 8, 8, -100, -100, -100, 8, 8, -100},
                           .weights = {0, 0, 0.5, 0.25, 0, 0, 0, 0.25, 1, 0},
                           .num_tiles = 3,
                           .pixels = {1, 2, 3, 4, 5, 6},
                           .num_supervised = 4,
                           .weight_sum = 2};
  const PackArrays one = leading_samples(pack, 1, 77, 2);
  EXPECT_EQ(one.samples, std::vector<std::int64_t>{4});
  EXPECT_EQ(one.ids, (std::vector<std::int64_t>{5, 77, 77}));
  EXPECT_EQ(one.num_tiles, 1);
  EXPECT_EQ(one.pixels, (std::vector<float>{1, 2}));
  EXPECT_EQ(one.num_supervised, 1);
  EXPECT_EQ(one.weight_sum, 0.5);
  const PackArrays two = leading_samples(pack, 2, 77, 2);
  EXPECT_EQ(two.segment_offsets, (std::vector<std::int64_t>{0, 3, 8}));
  EXPECT_EQ(two.num_tiles, 3);
  EXPECT_EQ(two.num_supervised, 3);
}

}  // namespace
}  // namespace omnibal::runtime
