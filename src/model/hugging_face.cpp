// SPDX-License-Identifier: Apache-2.0
#include "model/hugging_face.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

namespace omnibal::model {
namespace {

struct ModelType {
  std::string_view name;
  Result<ModelSpec> (*read)(const ConfigPart&, const std::string&);
};

constexpr std::array kModelTypes = {
    ModelType{"internvl", read_internvl},     ModelType{"internvl_chat", read_internvl_chat},
    ModelType{"llava", read_llava},           ModelType{"qwen2_vl", read_qwen2_vl},
    ModelType{"qwen2_5_vl", read_qwen2_5_vl},
};

std::string config_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return path;
  return (std::filesystem::path(path) / "config.json").string();
}

}  // namespace

Result<ModelSpec> load_hugging_face(const std::string& path) {
  const std::string file = config_file(path);
  OMNIBAL_ASSIGN(const codec::Json document, codec::read_json(file));
  const ConfigPart root(document, file);
  OMNIBAL_ASSIGN(const std::string type, codec::JsonFields(document, file).text("model_type"));
  std::string accepted;
  for (const ModelType& known : kModelTypes) {
    if (known.name == type) return known.read(root, path);
    accepted += fmt::format("{}{}", accepted.empty() ? "" : ", ", known.name);
  }
  return root
      .problem(ErrorCode::kUnsupportedModel, "model_type",
               fmt::format("models of type \"{}\" are not supported", type))
      .with_value(type)
      .with_limit(accepted)
      .with_hint("write a profile of the model by hand or measure it (docs/formats/profile.md)");
}

}  // namespace omnibal::model
