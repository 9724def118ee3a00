// SPDX-License-Identifier: Apache-2.0
#include "model/layer_list.h"

#include <fmt/format.h>

#include <array>

#include "omnibal/base/name_table.h"
#include "omnibal/model/parameters.h"

namespace omnibal::model {
namespace {

constexpr std::array kKindNames = {
    Named{LayerKind::kPatchEmbedding, "patch_embedding"},
    Named{LayerKind::kVisionBlock, "vision_block"},
    Named{LayerKind::kProjector, "projector"},
    Named{LayerKind::kTokenEmbedding, "token_embedding"},
    Named{LayerKind::kLlmBlock, "llm_block"},
    Named{LayerKind::kHead, "head"},
};

bool belongs_to(LayerKind kind, std::string_view part) {
  switch (kind) {
    case LayerKind::kPatchEmbedding:
    case LayerKind::kVisionBlock:
      return part == "vision";
    case LayerKind::kProjector:
      return part == "projector";
    case LayerKind::kTokenEmbedding:
    case LayerKind::kLlmBlock:
    case LayerKind::kHead:
      return part == "llm";
  }
  return false;
}

}  // namespace

std::string_view to_string(LayerKind kind) { return name_in(kKindNames, kind); }

Result<LayerKind> parse_layer_kind(std::string_view text) {
  const Result<LayerKind> kind = parse_name(kKindNames, "kind of layer", "kind", text);
  if (kind.ok()) return kind;
  Error error = kind.error();
  error.code = ErrorCode::kOutOfRange;  // a word of a file, not of the command line
  return error;
}

std::int64_t ModelSpec::parameters() const {
  std::int64_t sum = 0;
  for (const Layer& layer : layers) sum += layer.parameters;
  return sum;
}

ModelSpec assemble(std::string name, VisionTower vision, Projector projector,
                   LanguageModel language) {
  ModelSpec model{.name = std::move(name),
                  .vision = std::move(vision),
                  .projector = projector,
                  .language = std::move(language),
                  .layers = {}};
  const std::int64_t vision_block = vision_block_parameters(model.vision).total();
  for (std::int64_t i = 0; i < model.vision.num_layers; ++i) {
    const std::int64_t embedding = i == 0 ? patch_embedding_parameters(model.vision) : 0;
    model.layers.push_back({fmt::format("vision.{}", i), LayerKind::kVisionBlock,
                            model.vision.trainable, vision_block + embedding});
  }
  model.layers.push_back({"projector", LayerKind::kProjector, model.projector.trainable,
                          projector_parameters(model.projector)});
  const std::int64_t table = vocabulary_parameters(model.language);
  const bool llm_trainable = model.language.trainable;
  model.layers.push_back({"token_embedding", LayerKind::kTokenEmbedding, llm_trainable, table});
  const std::int64_t llm_block = llm_block_parameters(model.language).total();
  for (std::int64_t i = 0; i < model.language.num_layers; ++i) {
    model.layers.push_back(
        {fmt::format("llm.{}", i), LayerKind::kLlmBlock, llm_trainable, llm_block});
  }
  const std::int64_t own_table = model.language.tied_embedding ? 0 : table;
  const std::int64_t final_norm = model.language.width;
  model.layers.push_back({"head", LayerKind::kHead, llm_trainable, own_table + final_norm});
  return model;
}

Status freeze(ModelSpec& model, std::string_view part) {
  if (part == "vision") {
    model.vision.trainable = false;
  } else if (part == "projector") {
    model.projector.trainable = false;
  } else if (part == "llm") {
    model.language.trainable = false;
  } else {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("no part of a model is called \"{}\"", part))
        .with_value(std::string(part))
        .with_limit(std::string("vision, projector, llm"));
  }
  for (Layer& layer : model.layers) {
    if (belongs_to(layer.kind, part)) layer.trainable = layer.adapter_parameters > 0;
  }
  return {};
}

}  // namespace omnibal::model
