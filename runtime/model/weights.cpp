// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/model/weights.h"

#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "model/names.h"
#include "omnibal/runtime/safetensors/writer.h"

namespace omnibal::runtime {
namespace {

/// Where each parameter's tensor is, by the parameter's name.
using Places = std::map<std::string, std::string>;

/// Buffers that older files hold and no model reads.
bool is_ignored(const std::string& name) {
  return name.ends_with("rotary_emb.inv_freq") || name.ends_with("embeddings.position_ids");
}

Error several(ErrorCode code, const std::vector<std::string>& names, std::string_view what) {
  return Error(code, fmt::format("{} {} ({} in all)", what, names.front(), names.size()))
      .at_key(names.front())
      .with_value(static_cast<std::int64_t>(names.size()));
}

/// A file may hold the head beside a tied embedding if it is the same: so torch's own files do.
Status check_tied_head(const Weights& weights, const Places& places, const std::string& head) {
  OMNIBAL_ASSIGN(const TensorView view, weights.find(head));
  OMNIBAL_ASSIGN(const TensorView table, weights.find(places.at(std::string(kTokenTable))));
  if (view.dtype == table.dtype && std::ranges::equal(view.bytes, table.bytes)) return {};
  return Error(ErrorCode::kConflictingKeys,
               "the weights hold a head that differs from the embedding it is tied to")
      .at_key(head)
      .with_hint("set tie_word_embeddings to false in config.json");
}

Result<Places> find_all(const Weights& weights, const ModelConfig& config) {
  const std::vector<std::string> names = weights.names();
  std::set<std::string> unclaimed(names.begin(), names.end());
  Places places;
  std::vector<std::string> missing;
  for (const Parameter& parameter : describe_parameters(config)) {
    for (const std::string& name : accepted_names(parameter.name)) {
      if (!places.contains(parameter.name) && unclaimed.erase(name) > 0) {
        places[parameter.name] = name;
      }
    }
    if (!places.contains(parameter.name)) missing.push_back(parameter.name);
  }
  if (!missing.empty()) return several(ErrorCode::kMissingTensor, missing, "the weights lack");
  std::erase_if(unclaimed, is_ignored);
  if (config.spec.language.tied_embedding) {
    for (const std::string& head : accepted_names(std::string(kHeadTable))) {
      if (unclaimed.erase(head) == 0) continue;
      OMNIBAL_RETURN_IF_ERROR(check_tied_head(weights, places, head));
    }
  }
  if (unclaimed.empty()) return places;
  return several(ErrorCode::kUnknownKey, {unclaimed.begin(), unclaimed.end()},
                 "the model that config.json describes has no tensor");
}

Status load(const TensorView& view, Parameter& parameter) {
  if (view.shape != parameter.shape) {
    return Error(ErrorCode::kConflictingKeys, "a tensor has another shape than config.json says")
        .at_key(view.name)
        .with_value(fmt::format("[{}]", fmt::join(view.shape, ", ")))
        .with_limit(fmt::format("[{}]", fmt::join(parameter.shape, ", ")));
  }
  OMNIBAL_ASSIGN(const at::Tensor whole, tensor_of(view));
  if (!whole.is_floating_point()) {
    return Error(ErrorCode::kWrongType, "weights are real numbers")
        .at_key(view.name)
        .with_value(std::string(name_of(view.dtype)))
        .with_limit(std::string("F32, F64, BF16, F16"));
  }
  const c10::NoGradGuard no_graph;
  parameter.tensor.copy_(
      whole.narrow(parameter.split_dimension, parameter.held.begin, parameter.held.count));
  return {};
}

}  // namespace

Status load_parameters(const Weights& weights, Stage& stage) {
  OMNIBAL_ASSIGN(const Places places, find_all(weights, stage.config));
  for (Parameter& parameter : stage.parameters) {
    OMNIBAL_ASSIGN(const TensorView view, weights.find(places.at(parameter.name)));
    OMNIBAL_RETURN_IF_ERROR(load(view, parameter));
  }
  return {};
}

Status save_parameters(const std::string& directory, std::span<const Parameter> parameters,
                       at::ScalarType type) {
  const c10::NoGradGuard no_graph;
  std::vector<at::Tensor> tensors;  // alive until all is written
  std::vector<TensorView> views;
  for (const Parameter& parameter : parameters) {
    if (parameter.tied_copy) continue;
    tensors.push_back(parameter.tensor.detach().to(type).contiguous());
    views.push_back(view_of(parameter.name, tensors.back()));
  }
  std::ranges::sort(views, {}, &TensorView::name);
  return write_weights(directory, views, {});
}

}  // namespace omnibal::runtime
