// SPDX-License-Identifier: Apache-2.0
#include "omnibal/joint/joint.h"

namespace omnibal::joint {

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
      layer.choices.push_back({times[i].recompute_s, bytes[i].recomputed_bytes});
    }
  }
  return layers;
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
