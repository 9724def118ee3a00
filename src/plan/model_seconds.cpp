// SPDX-License-Identifier: Apache-2.0
#include "plan/model_seconds.h"

#include <fmt/format.h>

#include <algorithm>

#include "omnibal/cost/analytic.h"

namespace omnibal::plan {
namespace {

/// A profile that says at which tp it was made holds for no other.
Status check_tp(const cost::Profile& profile, std::int64_t tp) {
  const auto said =
      std::ranges::find(profile.provenance, "tp", &std::pair<std::string, std::string>::first);
  if (said == profile.provenance.end() || said->second == fmt::format("{}", tp)) return {};
  return Error(ErrorCode::kInvalidArgument, "the profile was made at another tensor-parallel size")
      .at_key("--tp")
      .with_value(tp)
      .with_limit(said->second)
      .with_hint(fmt::format("give --tp {}, or a profile of tp {}", said->second, tp));
}

/// A measured profile must be of this model; counts of parameters that it lacks are the model's.
Result<cost::Profile> measured_profile(const model::ModelSpec& model, cost::Profile profile,
                                       std::int64_t tp) {
  OMNIBAL_RETURN_IF_ERROR(check_tp(profile, tp));
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
  Result<cost::Profile> profile = request.profile
                                      ? measured_profile(model, *request.profile, sizes.tp)
                                      : analytic_profile(model, cluster, options);
  if (profile) cost::keep_choices(*profile, request.choices);
  return profile;
}

Result<DeviceSeconds> device_seconds(const ProfiledRun& run, const cost::Load& load) {
  OMNIBAL_ASSIGN(const cost::Profile alone, cost::analytic_profile(run.model, run.cluster, {}));
  const auto tp = static_cast<double>(run.tp);
  return DeviceSeconds{.all = 0,
                       .once = useful_seconds(alone, load),
                       .split = useful_seconds(run.without_links, load) * tp,
                       .busy = useful_seconds(run.profile, load) * tp,
                       .recompute = 0};
}

double useful_seconds(const cost::Profile& profile, const cost::Load& load) {
  double seconds = 0;
  for (const cost::LayerTimes& layer : cost::layer_times(profile)) {
    seconds += layer.forward_s.at(load) + layer.backward_s.at(load);
  }
  return seconds;
}

double bound_gpu_days(const cost::Profile& profile, const cost::Load& sum, std::int64_t num_packs,
                      std::int64_t tp) {
  const double of_no_load = useful_seconds(profile, {});  // that every pack takes
  const double seconds =
      useful_seconds(profile, sum) + static_cast<double>(num_packs - 1) * of_no_load;
  return seconds * static_cast<double>(tp) / 86400;
}

}  // namespace omnibal::plan
