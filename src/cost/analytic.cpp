// SPDX-License-Identifier: Apache-2.0
#include "omnibal/cost/analytic.h"

#include <fmt/format.h>

#include <map>

#include "cost/layer_demand.h"
#include "cost/tensor_parallel.h"
#include "omnibal/base/version.h"

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

LayerProfile layer_profile(const model::Layer& layer, const LayerDemand& demand,
                           double achieved_flops, std::int64_t dp) {
  LayerProfile profile;
  profile.name = layer.name;
  profile.kind = layer.kind;
  profile.trainable = layer.trainable;
  profile.parameters = static_cast<double>(layer.parameters);
  profile.forward_s = (1 / achieved_flops) * demand.flops;
  profile.input_grad_s = profile.forward_s;
  profile.weight_grad_s = profile.forward_s;
  profile.recompute_s = profile.forward_s;
  profile.activation_bytes = demand.activation_bytes;
  profile.recomputed_bytes = demand.recomputed_bytes;
  profile.boundary_bytes = demand.boundary_bytes;
  profile.static_bytes.constant =
      demand.device_parameters * bytes_per_parameter(layer.trainable, dp);
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
  std::map<LayerKind, std::int64_t> seen;
  for (const model::Layer& layer : model.layers) {
    const LayerDemand demand = layer_demand(model, layer.kind, seen[layer.kind]++, options);
    profile.layers.push_back(layer_profile(layer, demand, cluster.achieved_flops, options.dp));
    if (!options.tensor_links) continue;
    add_tensor_parallel_seconds(all_reduced_bytes(model, layer.kind, options), options.tp,
                                cluster.inner, profile.layers.back());
  }
  // The first layer's backward computes gradients inside of its block as any other's does: it
  // hands none on, but its weights need both halves, so that backward is twice the forward.
  if (!profile.layers.empty()) {
    LayerProfile& first = profile.layers.front();
    first.weight_grad_s += first.input_grad_s;
    first.input_grad_s = {};
  }
  return profile;
}

}  // namespace omnibal::cost
