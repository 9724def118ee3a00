// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/train/trained_parameters.h"

#include "model/names.h"
#include "omnibal/runtime/layers/communicator_group.h"

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
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters) names.push_back(parameter.name);
  OMNIBAL_ASSIGN(ParameterGroups groups, group_parameters(names, rules));
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

}  // namespace omnibal::runtime
