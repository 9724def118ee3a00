// SPDX-License-Identifier: Apache-2.0
#include "omnibal/cost/profile.h"

#include <algorithm>
#include <cmath>

#include "omnibal/cost/recompute_choices.h"

namespace omnibal::cost {
namespace {

std::int64_t whole_bytes(const LinearCost& cost, const Load& load) {
  return std::llround(std::clamp(cost.at(load), 0.0, static_cast<double>(kBytesLimit)));
}

/// The layer as it runs: gradients that nobody needs are gone, and so is what only they keep.
LayerProfile as_it_runs(const LayerProfile& layer, bool trainable_before) {
  LayerProfile effective = layer;
  if (!trainable_before) effective.input_grad_s = {};
  if (!layer.trainable) effective.weight_grad_s = {};
  if (!layer.trainable && !trainable_before) {
    effective.recompute_s = {};
    effective.activation_bytes = {};
    effective.recomputed_bytes = {};
    effective.transient_bytes = {};
    effective.recompute_choices.clear();
  }
  return effective;
}

/// Calls `visit(layer as it runs)` for each layer in order.
template <class Visit>
void for_each_layer(const Profile& profile, const Visit& visit) {
  bool trainable_before = false;
  for (const LayerProfile& layer : profile.layers) {
    visit(as_it_runs(layer, trainable_before));
    trainable_before = trainable_before || layer.trainable;
  }
}

}  // namespace

bool is_allowed(const Load& load) {
  const auto within = [](double part, double most) { return part >= 0 && part <= most; };
  return within(load.vision_units, kLargestLoad.vision_units) &&
         within(load.tokens, kLargestLoad.tokens) &&
         within(load.token_pairs, kLargestLoad.token_pairs);
}

bool LinearCost::is_zero() const { return *this == LinearCost{}; }

LinearCost& LinearCost::operator+=(const LinearCost& other) {
  constant += other.constant;
  per_vision_unit += other.per_vision_unit;
  per_token += other.per_token;
  per_token_pair += other.per_token_pair;
  return *this;
}

LinearCost operator*(double factor, const LinearCost& cost) {
  return {factor * cost.constant, factor * cost.per_vision_unit, factor * cost.per_token,
          factor * cost.per_token_pair};
}

std::vector<LayerCost> evaluate(const Profile& profile, const Load& load) {
  std::vector<LayerCost> costs;
  costs.reserve(profile.layers.size());
  for_each_layer(profile, [&](const LayerProfile& layer) {
    LayerCost cost;
    cost.forward_s = layer.forward_s.at(load);
    cost.input_grad_s = layer.input_grad_s.at(load);
    cost.weight_grad_s = layer.weight_grad_s.at(load);
    cost.recompute_s = layer.recompute_s.at(load);
    cost.activation_bytes = whole_bytes(layer.activation_bytes, load);
    cost.recomputed_bytes = whole_bytes(layer.recomputed_bytes, load);
    cost.static_bytes = whole_bytes(layer.static_bytes, load);
    cost.boundary_bytes = whole_bytes(layer.boundary_bytes, load);
    cost.can_recompute = cost.recomputed_bytes < cost.activation_bytes;
    if (layer.transient_bytes) cost.transient_bytes = whole_bytes(*layer.transient_bytes, load);
    costs.push_back(cost);
  });
  return costs;
}

std::vector<std::vector<ChoiceCost>> evaluate_choices(const Profile& profile, const Load& load) {
  std::vector<std::vector<ChoiceCost>> costs;
  costs.reserve(profile.layers.size());
  for_each_layer(profile, [&](const LayerProfile& layer) {
    std::vector<ChoiceCost>& of_layer = costs.emplace_back();
    for (const RecomputeChoice& choice : layer.recompute_choices) {
      of_layer.push_back({choice.recompute_s.at(load), whole_bytes(choice.kept_bytes, load),
                          whole_bytes(choice.transient_bytes, load)});
    }
  });
  return costs;
}

std::vector<LayerTimes> layer_times(const Profile& profile) {
  std::vector<LayerTimes> times;
  times.reserve(profile.layers.size());
  for_each_layer(profile, [&](const LayerProfile& layer) {
    LayerTimes row{layer.forward_s, layer.input_grad_s, layer.recompute_s, layer.weight_grad_s};
    row.backward_s += layer.weight_grad_s;
    for (const RecomputeChoice& choice : layer.recompute_choices) {
      row.choice_s.push_back(choice.recompute_s);
    }
    times.push_back(std::move(row));
  });
  return times;
}

LinearCost total_forward(const Profile& profile) {
  LinearCost sum;
  for (const LayerProfile& layer : profile.layers) sum += layer.forward_s;
  return sum;
}

}  // namespace omnibal::cost
