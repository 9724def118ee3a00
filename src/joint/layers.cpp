// SPDX-License-Identifier: Apache-2.0
#include "omnibal/joint/joint.h"

namespace omnibal::joint {
namespace {

RecomputeChoice full_recomputation(const cost::LayerCost& times, const cost::LayerCost& bytes) {
  return {times.recompute_s, bytes.recomputed_bytes, bytes.transient_bytes};
}

}  // namespace

std::vector<JointLayer> joint_layers(std::span<const recompute::BarLayer> classes,
                                     std::span<const cost::LayerCost> times,
                                     std::span<const cost::LayerCost> bytes) {
  std::vector<JointLayer> layers;
  layers.reserve(times.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    JointLayer& layer = layers.emplace_back();
    layer.layer_class = classes[i].layer_class;
    layer.forward_s = times[i].forward_s;
    layer.backward_s = times[i].backward_s();
    layer.weight_grad_s = times[i].weight_grad_s;
    layer.static_bytes = bytes[i].static_bytes;
    layer.activation_bytes = bytes[i].activation_bytes;
    if (classes[i].trainable) layer.weight_grad_bytes = bytes[i].activation_bytes;
    if (bytes[i].can_recompute) {
      layer.choices.push_back(full_recomputation(times[i], bytes[i]));
    }
  }
  return layers;
}

void add_named_choices(std::span<const std::vector<cost::ChoiceCost>> times,
                       std::span<const std::vector<cost::ChoiceCost>> bytes,
                       std::span<const cost::LayerCost> full_times,
                       std::span<const cost::LayerCost> full_bytes,
                       std::vector<JointLayer>& layers) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (times[i].empty()) continue;
    std::vector<RecomputeChoice>& choices = layers[i].choices;
    if (choices.empty()) choices.push_back(full_recomputation(full_times[i], full_bytes[i]));
    for (std::size_t c = 0; c < times[i].size(); ++c) {
      choices.push_back(
          {times[i][c].recompute_s, bytes[i][c].kept_bytes, bytes[i][c].transient_bytes});
    }
  }
}

recompute::RecomputeMask to_mask(const LayerChoices& choices) {
  recompute::RecomputeMask mask;
  mask.reserve(choices.size());
  for (const std::int32_t choice : choices) mask.push_back(choice != 0);
  return mask;
}

LayerChoices to_choices(const recompute::RecomputeMask& mask) {
  LayerChoices choices;
  choices.reserve(mask.size());
  for (const bool recomputes : mask) choices.push_back(recomputes ? 1 : 0);
  return choices;
}

}  // namespace omnibal::joint
