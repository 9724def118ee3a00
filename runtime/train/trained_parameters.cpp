// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/train/trained_parameters.h"

#include <algorithm>

#include "model/names.h"
#include "omnibal/runtime/layers/communicator_group.h"
#include "omnibal/runtime/model/stage.h"

namespace omnibal::runtime {
namespace {

Element element_of(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kDouble ? Element::kF64 : Element::kF32;
}

/// Sums over the tensor-parallel ranks, then over the two owners of the embedding.
Status sum_gradient(const Parameter& parameter, const ParameterSharers& sharers, bool tied,
                    const at::Tensor& gradient) {
  try {
    if (parameter.shared) sum_over_ranks(parameter, gradient, *sharers.tensor);
  } catch (const CommunicationFailure& failure) {
    return failure.error();
  }
  if (!tied) return {};
  return sharers.tie
      ->all_reduce(gradient.mutable_data_ptr(), static_cast<std::size_t>(gradient.numel()),
                   element_of(gradient), Reduction::kSum)
      .wait();
}

std::vector<std::string> names_of(const std::vector<Parameter>& parameters) {
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters) names.push_back(parameter.name);
  return names;
}

TrainedParameter trained(const Parameter& parameter, std::size_t group,
                         const ParameterSharers& sharers) {
  TrainedParameter result;
  result.name = parameter.name;
  result.tensor = parameter.tensor;
  result.group = group;
  result.uses = parameter.uses;
  if (!parameter.tied_copy) {
    result.counted = block_of(parameter.tensor.sizes(), parameter.split_dimension,
                              parameter.owned.begin - parameter.held.begin, parameter.owned.count);
  }
  const bool tied = sharers.tie != nullptr && parameter.name == kTokenTable;
  if (tied || (parameter.shared && size_of(sharers.tensor) > 1)) {
    result.sum_over_model = [=](const at::Tensor& gradient) {
      return sum_gradient(parameter, sharers, tied, gradient);
    };
  }
  return result;
}

}  // namespace

Result<TrainedStage> trained_parameters(const std::vector<Parameter>& parameters,
                                        const GroupRules& rules, const ParameterSharers& sharers) {
  OMNIBAL_ASSIGN(ParameterGroups groups, group_parameters(names_of(parameters), rules));
  TrainedStage stage;
  stage.groups = std::move(groups.settings);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const bool trains = groups.of_parameter[i] && parameters[i].reachable;
    parameters[i].tensor.set_requires_grad(trains);
    if (!trains) continue;
    stage.parameters.push_back(trained(parameters[i], *groups.of_parameter[i], sharers));
  }
  return stage;
}

Result<std::int64_t> first_trained_layer(const ModelConfig& config, const GroupRules& rules) {
  const std::vector<Parameter> parameters = describe_parameters(config);
  OMNIBAL_ASSIGN(const ParameterGroups groups, group_parameters(names_of(parameters), rules));
  auto first = static_cast<std::int64_t>(config.spec.layers.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const bool trains = groups.of_parameter[i] && parameters[i].reachable;
    if (trains) first = std::min(first, parameters[i].layer);
  }
  return first;
}

}  // namespace omnibal::runtime
