// SPDX-License-Identifier: Apache-2.0
#include "plan/spread_tower.h"

#include <algorithm>

#include "omnibal/cost/recompute_choices.h"

namespace omnibal::plan {
namespace {

constexpr double kWeightBytes = 2;      // bf16
constexpr double kGradientBytes = 4;    // fp32
constexpr double kOptimizerBytes = 12;  // fp32 weight and two moments
constexpr double kGatheredLayers = 2;   // the one that computes and the one ahead

bool is_vision(const cost::LayerProfile& layer) {
  return layer.kind && model::is_vision(*layer.kind);
}

/// How many devices hold the tower together.
struct Sharding {
  double in_node = 1;  // for weights and gradients
  double all = 1;      // for optimizer states
};

Sharding sharding_of(const cluster::ClusterSpec& cluster, const cluster::ParallelSizes& sizes,
                     const SpreadTower& tower) {
  const std::int64_t all = std::max<std::int64_t>(1, sizes.tp * tower.ranks * sizes.dp / tower.tp);
  const std::int64_t in_node = std::max<std::int64_t>(1, cluster.devices_per_node / tower.tp);
  return {static_cast<double>(std::min(in_node, all)), static_cast<double>(all)};
}

/// Parameters of a layer that a device of the tower's tensor group has.
struct Parameters {
  double frozen = 0;
  double trained = 0;
};

Parameters parameters_of(const model::Layer& layer, std::int64_t tp) {
  const auto all = static_cast<double>(layer.parameters) / static_cast<double>(tp);
  const auto adapters = static_cast<double>(layer.adapter_parameters) / static_cast<double>(tp);
  if (adapters > 0) return {all - adapters, adapters};
  return layer.trainable ? Parameters{0, all} : Parameters{all, 0};
}

/// Bytes of one device.
double sharded_bytes(const Parameters& parameters, const Sharding& sharding) {
  return parameters.frozen * kWeightBytes / sharding.in_node +
         parameters.trained *
             ((kWeightBytes + kGradientBytes) / sharding.in_node + kOptimizerBytes / sharding.all);
}

/// What a device holds of gathered layers while it runs them; nothing where none is sharded.
double working_bytes(const Parameters& parameters, const Sharding& sharding) {
  if (sharding.in_node <= 1) return 0;
  return (parameters.frozen + parameters.trained) * kGatheredLayers * kWeightBytes +
         parameters.trained * kGradientBytes;
}

/// Costs of the tower's layers where `share` of a micro-batch's units is a device's.
void scale_by(double share, cost::LayerProfile& layer) {
  for (cost::LinearCost* cost :
       {&layer.forward_s, &layer.input_grad_s, &layer.weight_grad_s, &layer.recompute_s,
        &layer.activation_bytes, &layer.recomputed_bytes}) {
    *cost = share * *cost;
  }
}

}  // namespace

std::int32_t num_vision_layers(const cost::Profile& profile) {
  const auto language = std::ranges::find_if_not(profile.layers, is_vision);
  return static_cast<std::int32_t>(language - profile.layers.begin());
}

Result<cost::Profile> spread_profile(const model::ModelSpec& model,
                                     const cluster::ClusterSpec& cluster,
                                     const cost::AnalyticOptions& options,
                                     const cluster::ParallelSizes& sizes,
                                     const SpreadTower& tower) {
  OMNIBAL_ASSIGN(cost::Profile profile, cost::analytic_profile(model, cluster, options));
  cost::AnalyticOptions of_tower = options;
  of_tower.tp = tower.tp;
  OMNIBAL_ASSIGN(const cost::Profile alone, cost::analytic_profile(model, cluster, of_tower));
  const double share = static_cast<double>(tower.tp) / static_cast<double>(options.tp);
  const Sharding sharding = sharding_of(cluster, sizes, tower);
  double working = 0;
  const auto num_vision = static_cast<std::size_t>(num_vision_layers(profile));
  for (std::size_t i = 0; i < num_vision; ++i) {
    cost::LayerProfile& layer = profile.layers[i];
    layer = alone.layers[i];
    scale_by(share, layer);
    const Parameters parameters = parameters_of(model.layers[i], tower.tp);
    layer.static_bytes = {.constant = sharded_bytes(parameters, sharding)};
    layer.parameters /= share;
    layer.adapter_parameters /= share;
    working = std::max(working, working_bytes(parameters, sharding));
  }
  cost::keep_choices(profile, cost::ChoiceSet::kFull);
  if (num_vision > 0) profile.layers.front().static_bytes.constant += working;
  return profile;
}

std::int64_t unit_multiple(const SpreadTower& tower, std::int64_t tp) {
  if (tower.place == schedule::VisionPlace::kBefore) return 1;
  return std::max<std::int64_t>(1, tp / tower.tp);
}

std::int64_t held_by_language_rank(const SpreadTower& tower, std::int64_t micro_batches) {
  constexpr std::int64_t kNested = 3;  // schedule/layout.h
  const std::int64_t all = (micro_batches + tower.ranks - 1) / tower.ranks;
  switch (tower.place) {
    case schedule::VisionPlace::kBefore:
      return all;
    case schedule::VisionPlace::kNested:
      return std::min(kNested, all);
    case schedule::VisionPlace::kApart:
      return 0;
  }
  return 0;
}

}  // namespace omnibal::plan
