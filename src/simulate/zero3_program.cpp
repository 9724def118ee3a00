// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "omnibal/simulate/collectives.h"
#include "omnibal/simulate/zero3.h"
#include "simulate/state_bytes.h"

namespace omnibal::simulate {
namespace {

using Operation = Zero3Program::Operation;

Status check(const Zero3Case& zero3) {
  if (zero3.num_ranks < 1 || zero3.tp < 1 || zero3.prefetch < 0) {
    return Error(ErrorCode::kInvalidArgument,
                 "ranks and tp are at least 1, layers gathered ahead at least 0");
  }
  const bool known = std::ranges::any_of(
      zero3.profile.layers, [](const cost::LayerProfile& layer) { return layer.parameters > 0; });
  if (!known) {
    return Error(ErrorCode::kMissingKey,
                 "the profile does not say how many parameters its layers have, which ZeRO-3 "
                 "gathers")
        .at_key("parameters");
  }
  if (!zero3.update) return {};
  if (zero3.cluster != nullptr && zero3.cluster->memory_bytes_per_s > 0) return {};
  return Error(ErrorCode::kMissingKey,
               "the optimizer is timed by the rate of the device memory, which is not known")
      .at_key("memory_bytes_per_s");
}

DeviceGroup group_of(const Zero3Case& zero3) {
  if (zero3.cluster == nullptr) return {};
  return data_parallel_group(*zero3.cluster, {.tp = zero3.tp, .pp = 1, .dp = zero3.num_ranks}, 0);
}

Operation operation(const Zero3Case& zero3, std::size_t layer, bool backward) {
  const DeviceGroup group = group_of(zero3);
  const auto tp = static_cast<double>(zero3.tp);
  const double parameters = zero3.profile.layers[layer].parameters / tp;
  const double trained = zero3.profile.layers[layer].trained_parameters() / tp;
  Operation made;
  made.layer = static_cast<std::int32_t>(layer);
  made.backward = backward;
  made.gathers = parameters > 0;
  made.gather_s = all_gather_s(group, kWeightBytes * parameters);
  made.reduces = backward && trained > 0;
  if (made.reduces) made.reduce_s = reduce_scatter_s(group, kBf16GradientBytes * trained);
  return made;
}

double optimizer_seconds(const Zero3Case& zero3) {
  double parameters = 0;
  for (const cost::LayerProfile& layer : zero3.profile.layers) {
    parameters += layer.trained_parameters();
  }
  return kUpdateBytes * parameters / static_cast<double>(zero3.tp * zero3.num_ranks) /
         zero3.cluster->memory_bytes_per_s;
}

}  // namespace

Result<Zero3Program> compile_zero3(const Zero3Case& zero3) {
  OMNIBAL_RETURN_IF_ERROR(check(zero3));
  const std::vector<cost::LayerTimes> times = cost::layer_times(zero3.profile);
  Zero3Program program{.operations = {},
                       .num_ranks = zero3.num_ranks,
                       .prefetch = zero3.prefetch,
                       .waiting = zero3.waiting};
  for (std::size_t i = 0; i < times.size(); ++i) {
    program.operations.push_back(operation(zero3, i, false));
    program.operations.back().seconds = times[i].forward_s;
  }
  // The first layer that trains is the last that runs backward.
  const auto first = static_cast<std::size_t>(
      std::ranges::find(zero3.profile.layers, true, &cost::LayerProfile::trainable) -
      zero3.profile.layers.begin());
  for (std::size_t i = times.size(); i > first; --i) {
    program.operations.push_back(operation(zero3, i - 1, true));
    cost::LinearCost& seconds = program.operations.back().seconds;
    seconds = times[i - 1].backward_s;
    if (!zero3.recompute.empty() && zero3.recompute[i - 1]) seconds += times[i - 1].recompute_s;
  }
  if (zero3.update) program.optimizer_s = optimizer_seconds(zero3);
  return program;
}

}  // namespace omnibal::simulate
