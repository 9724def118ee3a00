// SPDX-License-Identifier: Apache-2.0
#include "omnibal/cost/analytic.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "cost/layer_demand.h"
#include "cost/tensor_parallel.h"
#include "omnibal/base/version.h"
#include "omnibal/cost/recompute_choices.h"

namespace omnibal::cost {
namespace {

using model::LayerKind;
using model::ModelSpec;

/// Bytes a parameter that trains: bf16 weight and fp32 gradient, and of each of dp devices its
/// share of fp32 master weight and Adam's moments. A frozen one: its bf16 weight.
double bytes_per_parameter(bool trainable, std::int64_t dp) {
  return trainable ? 6 + 12 / static_cast<double>(dp) : 2;
}

Status check_divides(std::string_view what, std::int64_t width, std::int64_t tp) {
  if (width % tp == 0) return {};
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("tp {} does not divide the width of {}", tp, what))
      .with_value(tp)
      .with_limit(width)
      .with_hint("choose a tp that divides it");
}

Status check_options(const ModelSpec& model, const AnalyticOptions& options) {
  for (const std::int64_t size : {options.tp, options.dp}) {
    if (size >= 1) continue;
    return Error(ErrorCode::kInvalidArgument, "tp and dp are at least 1").with_value(size);
  }
  if (!is_allowed(options.load)) {
    return Error(
        ErrorCode::kInvalidArgument,
        fmt::format("a load of {} vision units, {} tokens and {} token pairs is negative "
                    "or above {}, {} and {}",
                    options.load.vision_units, options.load.tokens, options.load.token_pairs,
                    kLargestLoad.vision_units, kLargestLoad.tokens, kLargestLoad.token_pairs));
  }
  OMNIBAL_RETURN_IF_ERROR(
      check_divides("the vision tower's MLP", model.vision.mlp_width, options.tp));
  OMNIBAL_RETURN_IF_ERROR(check_divides("the projector", model.projector.hidden_width, options.tp));
  return check_divides("the language model's MLP", model.language.mlp_width, options.tp);
}

LinearCost above(const LinearCost& cost, const LinearCost& hidden) {
  return {std::max(cost.constant - hidden.constant, 0.0),
          std::max(cost.per_vision_unit - hidden.per_vision_unit, 0.0),
          std::max(cost.per_token - hidden.per_token, 0.0),
          std::max(cost.per_token_pair - hidden.per_token_pair, 0.0)};
}

/// Activations leave for the host's memory behind the layer's own forward and return behind its own
/// backward; what a transfer takes longer than that, term by term, is waited for. On the device,
/// one layer's worth is in use while the next one's arrives.
RecomputeChoice offload(const LayerProfile& layer, double host_bytes_per_s) {
  const LinearCost transfer = (1 / host_bytes_per_s) * layer.activation_bytes;
  LinearCost backward = layer.input_grad_s;
  backward += layer.weight_grad_s;
  LinearCost waited = above(transfer, layer.forward_s);
  waited += above(transfer, backward);
  return {std::string(kOffloadChoice), waited, {}, 2 * layer.activation_bytes};
}

bool is_block(LayerKind kind) {
  return kind == LayerKind::kVisionBlock || kind == LayerKind::kLlmBlock;
}

void add_choices(const LayerDemand& demand, const cluster::ClusterSpec& cluster,
                 LayerProfile& profile) {
  for (const LayerDemand::Choice& choice : demand.choices) {
    profile.recompute_choices.push_back({choice.name,
                                         (1 / cluster.achieved_flops) * choice.region.flops,
                                         choice.region.kept_bytes, choice.region.rebuilt_bytes});
  }
  if (cluster.host_bytes_per_s > 0 && cluster.host_memory_bytes > 0 && is_block(*profile.kind) &&
      !profile.activation_bytes.is_zero()) {
    profile.recompute_choices.push_back(offload(profile, cluster.host_bytes_per_s));
  }
}

LayerProfile layer_profile(const model::Layer& layer, const LayerDemand& demand,
                           const cluster::ClusterSpec& cluster, std::int64_t dp) {
  const double second = 1 / cluster.achieved_flops;
  const bool only_adapters = layer.adapter_parameters > 0;
  LayerProfile profile;
  profile.name = layer.name;
  profile.kind = layer.kind;
  profile.trainable = layer.trainable;
  profile.parameters = static_cast<double>(layer.parameters);
  profile.adapter_parameters = static_cast<double>(layer.adapter_parameters);
  profile.forward_s = second * demand.forward_flops;
  profile.input_grad_s = second * demand.input_gradient_flops;
  profile.weight_grad_s = second * demand.weight_gradient_flops;
  profile.recompute_s = profile.forward_s;
  profile.activation_bytes = demand.activation_bytes;
  profile.recomputed_bytes = demand.recomputed_bytes;
  profile.boundary_bytes = demand.boundary_bytes;
  profile.static_bytes.constant =
      demand.device_parameters * bytes_per_parameter(layer.trainable && !only_adapters, dp) +
      demand.device_adapter_parameters * bytes_per_parameter(true, dp);
  add_choices(demand, cluster, profile);
  return profile;
}

std::string frozen_parts(const ModelSpec& model) {
  std::string parts;
  const auto add = [&parts](bool trainable, std::string_view name) {
    if (!trainable) parts += fmt::format("{}{}", parts.empty() ? "" : ", ", name);
  };
  add(model.vision.trainable, "vision");
  add(model.projector.trainable, "projector");
  add(model.language.trainable, "llm");
  return parts;
}

/// "llm rank 16: q, k".
std::string adapted_parts(const ModelSpec& model) {
  std::string parts;
  const auto add = [&parts](const model::Adapters& adapters, std::string_view name) {
    if (adapters.rank == 0) return;
    parts += fmt::format("{}{} rank {}: {}", parts.empty() ? "" : "; ", name, adapters.rank,
                         fmt::join(model::target_names(adapters), ", "));
  };
  add(model.vision.adapters, "vision");
  add(model.language.adapters, "llm");
  return parts;
}

}  // namespace

Result<Profile> analytic_profile(const ModelSpec& model, const cluster::ClusterSpec& cluster,
                                 const AnalyticOptions& options) {
  OMNIBAL_RETURN_IF_ERROR(check_options(model, options));
  Profile profile;
  profile.source = "analytic";
  profile.load = options.load;
  profile.provenance = {{"tool", fmt::format("omnibal {}", version())},
                        {"model", model.name},
                        {"cluster", cluster.name},
                        {"tp", fmt::format("{}", options.tp)},
                        {"dp", fmt::format("{}", options.dp)},
                        {"heads", options.heads == HeadPolicy::kPad ? "pad" : "replicate"}};
  if (std::string frozen = frozen_parts(model); !frozen.empty()) {
    profile.provenance.emplace_back("frozen", std::move(frozen));
  }
  if (std::string adapted = adapted_parts(model); !adapted.empty()) {
    profile.provenance.emplace_back("adapters", std::move(adapted));
  }
  std::map<LayerKind, std::int64_t> seen;
  bool trains_before = false;
  for (const model::Layer& layer : model.layers) {
    const LayerPlace place{layer.kind, seen[layer.kind]++, trains_before};
    const LayerDemand demand = layer_demand(model, place, options);
    profile.layers.push_back(layer_profile(layer, demand, cluster, options.dp));
    if (options.tensor_links) {
      add_tensor_parallel_seconds(all_reduced_bytes(model, layer.kind, options), options.tp,
                                  cluster.inner, trains_before, profile.layers.back());
    }
    trains_before = trains_before || layer.trainable;
  }
  return profile;
}

}  // namespace omnibal::cost
