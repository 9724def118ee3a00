// SPDX-License-Identifier: Apache-2.0
#include "plan/model_seconds.h"

#include <fmt/format.h>

#include "omnibal/cost/analytic.h"

namespace omnibal::plan {
namespace {

/// A measured profile must be of this model; counts of parameters that it lacks are the model's.
Result<cost::Profile> measured_profile(const model::ModelSpec& model, cost::Profile profile) {
  if (profile.layers.size() != model.layers.size()) {
    return Error(ErrorCode::kInvalidArgument, "the profile is of another model")
        .at_key("--profile")
        .with_value(fmt::format("{} layers", profile.layers.size()))
        .with_limit(fmt::format("{} layers of {}", model.layers.size(), model.name))
        .with_hint("give the --model that was measured");
  }
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    if (profile.layers[i].parameters > 0) continue;
    profile.layers[i].parameters = static_cast<double>(model.layers[i].parameters);
    profile.layers[i].adapter_parameters = static_cast<double>(model.layers[i].adapter_parameters);
  }
  return profile;
}

}  // namespace

Result<cost::Profile> profile_for(const model::ModelSpec& model,
                                  const cluster::ClusterSpec& cluster, const PlanRequest& request,
                                  const cluster::ParallelSizes& sizes) {
  const cost::AnalyticOptions options{
      .tp = sizes.tp, .dp = sizes.dp, .heads = request.heads, .tensor_links = !request.free_links};
  Result<cost::Profile> profile = request.profile ? measured_profile(model, *request.profile)
                                                  : analytic_profile(model, cluster, options);
  if (profile) cost::keep_choices(*profile, request.choices);
  return profile;
}

double useful_seconds(const cost::Profile& profile, const cost::Load& load) {
  double seconds = 0;
  for (const cost::LayerTimes& layer : cost::layer_times(profile)) {
    seconds += layer.forward_s.at(load) + layer.backward_s.at(load);
  }
  return seconds;
}

}  // namespace omnibal::plan
