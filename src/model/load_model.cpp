// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "model/hugging_face.h"
#include "model/known_parts.h"
#include "model/layer_list.h"
#include "omnibal/base/nearest_name.h"
#include "omnibal/model/model.h"

namespace omnibal::model {
namespace {

Error unknown(std::string_view what, std::string_view name, const std::vector<std::string>& names) {
  std::string hint = "known: ";
  for (const std::string& known : names) hint += known + (&known == &names.back() ? "" : ", ");
  return Error(ErrorCode::kUnknownPreset,
               fmt::format("no {} is called \"{}\"; the nearest is \"{}\"", what, name,
                           nearest_name(name, names)))
      .with_value(std::string(name))
      .with_hint(std::move(hint));
}

/// A part name without its "-448px" must still be told from a pair: names hold no '+'.
Result<ModelSpec> load_pair(std::string name, std::string_view vision, std::string_view language) {
  const KnownTower* tower = nullptr;
  for (const KnownTower& known : known_towers()) {
    if (known.tower.name == vision) tower = &known;
  }
  if (tower == nullptr) return unknown("vision tower", vision, vision_tower_names());
  for (const LanguageModel& known : known_language_models()) {
    if (known.name != language) continue;
    ModelSpec model =
        assemble(std::move(name), tower->tower,
                 projector_of(tower->tower, tower->pixel_shuffle, known.width), known);
    model.kept = KeptCount::kPaper;
    return model;
  }
  return unknown("language model", language, language_model_names());
}

bool looks_like_path(const std::string& text) {
  std::error_code ignored;
  return text.find('/') != std::string::npos || text.ends_with(".json") ||
         std::filesystem::exists(text, ignored);
}

}  // namespace

std::vector<std::string> model_presets() {
  std::vector<std::string> names;
  for (const Preset& preset : known_presets()) names.emplace_back(preset.name);
  return names;
}

std::vector<std::string> vision_tower_names() {
  std::vector<std::string> names;
  for (const KnownTower& known : known_towers()) names.push_back(known.tower.name);
  return names;
}

std::vector<std::string> language_model_names() {
  std::vector<std::string> names;
  for (const LanguageModel& known : known_language_models()) names.push_back(known.name);
  return names;
}

Result<ModelSpec> load_model(const std::string& name_or_path) {
  const std::string name = canonical_name(name_or_path);
  for (const Preset& preset : known_presets()) {
    if (preset.name == name) return load_pair(name, preset.vision, preset.language);
  }
  if (looks_like_path(name_or_path)) return load_hugging_face(name_or_path);
  if (const std::size_t plus = name.find('+'); plus != std::string::npos) {
    return load_pair(name, canonical_name(name.substr(0, plus)), name.substr(plus + 1));
  }
  Error error = unknown("model", name_or_path, model_presets());
  error.hint += "; a pair VISION+LLM (internvit-6b+internlm2-20b); or the path of a config.json";
  return error;
}

}  // namespace omnibal::model
