// SPDX-License-Identifier: Apache-2.0
//
// A model's weights between safetensors files and the parameters of stages. Files hold them under
// the names that transformers 5 writes or those of its `state_dict()`, in one file or in shards.
//
//   OMNIBAL_ASSIGN(const Weights weights, Weights::open("InternVL3-1B-hf/"));
//   OMNIBAL_RETURN_IF_ERROR(load_parameters(weights, stage));
//   OMNIBAL_RETURN_IF_ERROR(save_parameters("out/", stage.parameters, at::kBFloat16));
//
// Not checkpoints of a training: those hold an optimizer's state too.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <string>

#include "omnibal/base/result.h"
#include "omnibal/runtime/model/stage.h"
#include "omnibal/runtime/safetensors/reader.h"

namespace omnibal::runtime {

/// Each parameter's own part, converted to its type. The names are checked for the whole model:
/// kMissingTensor (the first, and how many), kUnknownKey (a tensor of no part of the model),
/// kConflictingKeys (another shape; a head of its own beside a tied embedding), kWrongType (not of
/// real numbers).
Status load_parameters(const Weights& weights, Stage& stage);

/// All parameters of a model, none of them divided, under their names in files; a tied head is not
/// written. `directory` is there and holds no weights. Errors: those of write_weights.
Status save_parameters(const std::string& directory, std::span<const Parameter> parameters,
                       at::ScalarType type);

/// A tensor of CPU memory, contiguous, as write_tensors takes it. As long as `tensor` lives.
TensorView view_of(const std::string& name, const at::Tensor& tensor);
/// A copy; its type is one of real or whole numbers. Error: kWrongType.
Result<at::Tensor> tensor_of(const TensorView& view);

}  // namespace omnibal::runtime
