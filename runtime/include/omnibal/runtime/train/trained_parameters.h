// SPDX-License-Identifier: Apache-2.0
//
// A model's parameters as the optimizer takes them: without frozen and unreachable ones, each with
// its group, with what this rank counts of it, and with the ranks that hold the same elements.
//
//   OMNIBAL_ASSIGN(TrainedStage trained,
//                  trained_parameters(stage.parameters, rules, {&tensor_group, groups.tie.get()}));
//   options.groups = trained.groups;
//   OMNIBAL_ASSIGN(auto optimizer, Optimizer::make(trained.parameters, options, *dp, *world));
//
// Not a copy: tensors are the stage's own, and frozen ones lose their `requires_grad`.
#pragma once

#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/runtime/comm/communicator.h"
#include "omnibal/runtime/config/model_config.h"
#include "omnibal/runtime/layers/tensor_group.h"
#include "omnibal/runtime/model/parameter.h"
#include "omnibal/runtime/optimizer/parameter_groups.h"
#include "omnibal/runtime/optimizer/trained_parameter.h"

namespace omnibal::runtime {

/// Who else holds elements of this rank's parameters; both outlive the optimizer.
struct ParameterSharers {
  const TensorGroup* tensor = nullptr;  // null: no tensor parallelism
  Communicator* tie = nullptr;          // null: no tied embedding with its other end elsewhere
};

struct TrainedStage {
  std::vector<TrainedParameter> parameters;
  std::vector<GroupSettings> groups;
};

/// Errors: those of group_parameters.
Result<TrainedStage> trained_parameters(const std::vector<Parameter>& parameters,
                                        const GroupRules& rules, const ParameterSharers& sharers);

/// The first layer of the model in which something trains; as many as it has layers if nothing
/// does. Errors: those of group_parameters.
Result<std::int64_t> first_trained_layer(const ModelConfig& config, const GroupRules& rules);

}  // namespace omnibal::runtime
