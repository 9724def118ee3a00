// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/model/tape.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "omnibal/cluster/cluster.h"
#include "omnibal/cost/analytic.h"
#include "omnibal/runtime/model/live_bytes.h"
#include "omnibal/runtime/model/weights.h"
#include "runtime/model/sample_model.h"

namespace omnibal::runtime {
namespace {

/// A model cut in stages, [cuts[i], cuts[i + 1]) each, trained once; the tied embedding's copies
/// summed as a pipeline does.
struct Trained {
  double loss = 0;
  std::vector<Stage> stages;
};

Trained train(const ScratchDirectory& scratch, const ModelConfig& config,
              const PreparedBatch& batch, const std::vector<std::int64_t>& cuts) {
  at::set_num_threads(1);
  Trained trained;
  const Result<Weights> weights = Weights::open(scratch.path());
  EXPECT_TRUE(weights.ok());
  const Pass pass{batch};
  std::vector<Tape> tapes(cuts.size() - 1);
  at::Tensor value;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    trained.stages.push_back(
        make_stage(config, {.first = cuts[i], .end = cuts[i + 1], .type = at::kDouble}));
    Stage& stage = trained.stages.back();
    EXPECT_TRUE(load_parameters(*weights, stage).ok());
    if (value.defined()) {
      EXPECT_EQ(value.sizes().vec(), output_shape(config, cuts[i] - 1, batch, nullptr));
      value.set_requires_grad(true);
    }
    value = run_forward(stage, value, pass, std::vector<Recompute>(stage.layers.size()), tapes[i]);
  }
  trained.loss = value.item<double>();
  at::Tensor gradient = at::ones({}, value.options());
  for (std::size_t i = trained.stages.size(); i-- > 0;) {
    gradient = run_backward(trained.stages[i], gradient, pass, tapes[i]);
  }
  return trained;
}

at::Tensor gradient_of(const Trained& trained, const std::string& name) {
  at::Tensor sum;
  for (const Stage& stage : trained.stages) {
    for (const Parameter& parameter : stage.parameters) {
      if (parameter.name != name || !parameter.tensor.grad().defined()) continue;
      const at::Tensor& own = parameter.tensor.grad();
      sum = sum.defined() ? sum + own : own;
    }
  }
  return sum;
}

void compare_cuts(const std::string& json, const std::vector<std::int64_t>& cuts) {
  const ScratchDirectory scratch;
  const ModelConfig config = sample_config(scratch, json);
  write_sample_weights(scratch, config);
  const PreparedBatch batch = sample_batch(config, 2, 9);
  const Trained whole = train(scratch, config, batch, {0, cuts.back()});
  const Trained parts = train(scratch, config, batch, cuts);
  EXPECT_EQ(parts.loss, whole.loss);
  for (const Parameter& parameter : whole.stages[0].parameters) {
    const at::Tensor expected = gradient_of(whole, parameter.name);
    const at::Tensor found = gradient_of(parts, parameter.name);
    ASSERT_EQ(found.defined(), expected.defined()) << parameter.name;
    if (!expected.defined()) continue;
    EXPECT_TRUE(at::equal(found, expected)) << parameter.name;
  }
}

TEST(RuntimeTape, CutsAnywhereChangeNoBit) {
  // vision.0 vision.1 projector token_embedding llm.0 llm.1 head
  compare_cuts(internvl_json(3, 4, 2, false), {0, 1, 2, 3, 4, 5, 6, 7});
  compare_cuts(internvl_json(3, 4, 2, true), {0, 1, 4, 7});
  compare_cuts(llava_json(3, 4, 2, true), {0, 2, 3, 7});
}

TEST(RuntimeTape, ATiedTableIsOneParameterOfOneStageAndTwoOfTwo) {
  const ScratchDirectory scratch;
  const ModelConfig config = sample_config(scratch, internvl_json(3, 4, 2, true));
  const std::string table = "language_model.model.embed_tokens.weight";
  const Stage whole = make_stage(config, {.end = 7});
  int found = 0;
  for (const Parameter& parameter : whole.parameters) {
    if (parameter.name != table) continue;
    ++found;
    EXPECT_EQ(parameter.uses, 2);
    EXPECT_FALSE(parameter.tied_copy);
  }
  EXPECT_EQ(found, 1);
  const Stage last = make_stage(config, {.first = 6, .end = 7});
  EXPECT_EQ(last.parameters.back().name, table);
  EXPECT_TRUE(last.parameters.back().tied_copy);
}

/// Bytes that the tape keeps of each layer: those of the layer's own forward.
std::vector<std::int64_t> kept_bytes(const Stage& stage, const PreparedBatch& batch,
                                     Recompute recompute, std::int64_t& peak) {
  const Pass pass{batch};
  std::vector<std::int64_t> kept;
  const LiveBytes live;
  Tape tape;
  const std::vector<Recompute> chosen(stage.layers.size(), recompute);
  at::Tensor output = run_forward(stage, {}, pass, chosen, tape);
  kept.push_back(live.now());
  run_backward(stage, at::ones({}, output.options()), pass, tape);
  output.reset();
  kept.push_back(live.now());
  peak = live.peak();
  return kept;
}

TEST(RuntimeTape, RecomputationKeepsTheInputsOfLayersAlone) {
  const ScratchDirectory scratch;
  const ModelConfig config = sample_config(scratch, internvl_json(3, 4, 2, false));
  write_sample_weights(scratch, config);
  Stage stage = sample_stage(scratch, config, nullptr);
  const PreparedBatch batch = sample_batch(config, 3, 40);
  std::int64_t peak = 0;
  kept_bytes(stage, batch, Recompute::kNothing, peak);  // gradients are allocated once
  std::int64_t plain_peak = 0;
  const std::vector<std::int64_t> plain = kept_bytes(stage, batch, Recompute::kNothing, plain_peak);
  const std::vector<std::int64_t> recomputed =
      kept_bytes(stage, batch, Recompute::kEverything, peak);
  std::int64_t inputs = 0;
  for (std::int64_t layer = 0; layer + 1 < 7; ++layer) {
    const std::vector<std::int64_t> shape = output_shape(config, layer, batch, nullptr);
    inputs += shape[0] * shape[1] * 8;
  }
  EXPECT_EQ(recomputed[0] / 1024, inputs / 1024);  // and a scalar, rounded up by the allocator
  EXPECT_GT(plain[0], 3 * recomputed[0]);
  EXPECT_LT(peak, plain_peak);
  EXPECT_EQ(plain[1], 0);
  EXPECT_EQ(recomputed[1], 0);
}

constexpr const char* kWideLlava = R"({"model_type":"llava","image_token_index":50,
"vision_config":{"model_type":"clip_vision_model","hidden_size":128,"num_hidden_layers":3,
"num_attention_heads":2,"intermediate_size":512,"image_size":112,"patch_size":14},
"text_config":{"model_type":"llama","hidden_size":128,"num_hidden_layers":2,
"num_attention_heads":2,"num_key_value_heads":1,"intermediate_size":320,"vocab_size":512}})";

/// What one layer keeps in bf16: its input, and all but its output, which is the next one's input.
std::int64_t kept_of_layer(const ModelConfig& config, std::int64_t layer,
                           const PreparedBatch& batch) {
  Stage stage = make_stage(config, {.first = layer, .end = layer + 1, .type = at::kBFloat16});
  for (Parameter& parameter : stage.parameters) {
    const c10::NoGradGuard no_graph;
    parameter.tensor.fill_(0.01);
  }
  at::Tensor input;
  if (layer > 0) {
    input = at::ones(output_shape(config, layer - 1, batch, nullptr),
                     at::TensorOptions().dtype(at::kBFloat16));
    input.set_requires_grad(true);
  }
  const LiveBytes live;
  Tape tape;
  const at::Tensor output = run_forward(stage, input, {batch}, {Recompute::kNothing}, tape);
  const std::int64_t own_input = input.defined() ? static_cast<std::int64_t>(input.nbytes()) : 0;
  return live.now() + own_input - static_cast<std::int64_t>(output.nbytes());
}

TEST(RuntimeTape, LayersKeepWhatThePlannerCounts) {
  const ScratchDirectory scratch;
  const ModelConfig config = sample_config(scratch, kWideLlava);
  const PreparedBatch batch = sample_batch(config, 2, 100, at::kBFloat16);
  const auto tokens = static_cast<double>(batch.tokens());
  const Result<cluster::ClusterSpec> cluster = cluster::load_cluster("a100-80g");
  ASSERT_TRUE(cluster.ok());
  const cost::Load load{2, tokens, tokens * tokens};
  const Result<cost::Profile> profile =
      cost::analytic_profile(config.spec, *cluster, {.load = load});
  ASSERT_TRUE(profile.ok()) << to_text(profile.error());
  for (std::size_t i = 0; i < config.spec.layers.size(); ++i) {
    const double expected = profile->layers[i].activation_bytes.at(load);
    const auto found =
        static_cast<double>(kept_of_layer(config, static_cast<std::int64_t>(i), batch));
    const model::LayerKind kind = config.spec.layers[i].kind;
    if (kind == model::LayerKind::kTokenEmbedding || kind == model::LayerKind::kHead) {
      // The planner counts the merged tokens, which here the first block keeps, and logits of all
      // positions, not of the supervised alone.
      EXPECT_LE(found, expected) << config.spec.layers[i].name;
    } else {
      EXPECT_NEAR(found / expected, 1, 0.06) << config.spec.layers[i].name;
    }
  }
}

TEST(RuntimeTape, FrozenPartsKeepAndComputeNoGradient) {
  const ScratchDirectory scratch;
  const ModelConfig config = sample_config(scratch, internvl_json(3, 4, 2, false));
  write_sample_weights(scratch, config);
  const PreparedBatch batch = sample_batch(config, 2, 9);
  Stage all = sample_stage(scratch, config, nullptr);
  Stage some = sample_stage(scratch, config, nullptr);
  for (Parameter& parameter : some.parameters) {
    const bool projector = parameter.name.starts_with("multi_modal_projector");
    parameter.tensor.set_requires_grad(projector);  // frozen on both sides of what trains
  }
  std::int64_t peak = 0;
  const std::int64_t kept_by_all = kept_bytes(all, batch, Recompute::kNothing, peak)[0];
  EXPECT_LT(kept_bytes(some, batch, Recompute::kNothing, peak)[0], kept_by_all);
  for (std::size_t i = 0; i < all.parameters.size(); ++i) {
    const at::Tensor& found = some.parameters[i].tensor.grad();
    const bool projector = all.parameters[i].name.starts_with("multi_modal_projector");
    ASSERT_EQ(found.defined(), projector) << all.parameters[i].name;
    if (!projector) continue;
    EXPECT_TRUE(at::equal(found, all.parameters[i].tensor.grad()));
  }
}

}  // namespace
}  // namespace omnibal::runtime
