// SPDX-License-Identifier: Apache-2.0
//
// A recipe in TOML: [unit], then [[dataset]] with [[dataset.part]] (docs/formats/corpus.md).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "corpus/length_row.h"
#include "corpus/loading.h"
#include "corpus/text_length.h"
#include "corpus/vision_unit.h"
#include "omnibal/codec/toml.h"
#include "omnibal/corpus/synth.h"

namespace omnibal::corpus {
namespace {

using codec::Json;
using codec::JsonFields;

constexpr double kMaxTextTokens = 1e6;
constexpr std::int64_t kMaxSamples = INT32_MAX;
constexpr std::int64_t kMaxUnits = UINT16_MAX;

/// One table of the file: its fields and its place for errors.
struct Table {
  JsonFields fields;
  std::string file;
  std::string place;
};

Table table_at(const Json& object, const std::string& file, const std::string& place) {
  return {JsonFields(object, file, place), file, place};
}

Error bad_recipe(const Table& table, std::string_view key, std::string message) {
  return Error(ErrorCode::kOutOfRange, std::move(message))
      .in_file(table.file)
      .at_key(fmt::format("{}.{}", table.place, key));
}

Result<TextLength> text_from(const Table& part) {
  OMNIBAL_ASSIGN(const Json* object, part.fields.object("text"));
  const Table table = table_at(*object, part.file, part.place + ".text");
  OMNIBAL_RETURN_IF_ERROR(table.fields.only({"mean", "std", "min", "max"}));
  constexpr auto kMost = static_cast<std::int64_t>(kMaxTextTokens);
  TextLength text;
  OMNIBAL_ASSIGN(text.min, table.fields.integer("min", 1, kMost));
  OMNIBAL_ASSIGN(text.max, table.fields.integer("max", text.min, kMost));
  OMNIBAL_ASSIGN(text.mean, table.fields.number("mean", 1, kMaxTextTokens));
  OMNIBAL_ASSIGN(text.std, table.fields.number("std", 0, kMaxTextTokens));
  if (!TextLengthSampler(text).accepts_often_enough()) {
    return bad_recipe(table, "mean",
                      fmt::format("less than 1 % of the lengths would lie within {} and {}",
                                  text.min, text.max))
        .with_hint("widen min and max, or move mean between them");
  }
  return text;
}

Result<std::uint16_t> units_from(const Table& table, const std::string& key) {
  std::int64_t units = 0;
  const char* const end = key.data() + key.size();
  const auto [rest, problem] = std::from_chars(key.data(), end, units);
  if (problem == std::errc() && rest == end && units >= 1 && units <= kMaxUnits) {
    return static_cast<std::uint16_t>(units);
  }
  return bad_recipe(table, key, "a number of vision units is needed as key")
      .with_value(key)
      .with_limit(kMaxUnits);
}

Result<std::vector<UnitChoice>> choices_from(const Table& part) {
  OMNIBAL_ASSIGN(const Json* object, part.fields.object("units"));
  const Table table = table_at(*object, part.file, part.place + ".units");
  std::vector<UnitChoice> choices;
  double total = 0;
  for (const auto& [key, ignored] : object->get_ref<const Json::object_t&>()) {
    UnitChoice choice;
    OMNIBAL_ASSIGN(choice.units, units_from(table, key));
    OMNIBAL_ASSIGN(choice.weight, table.fields.number(key, 0, 1e9));
    total += choice.weight;
    choices.push_back(choice);
  }
  if (total <= 0) return bad_recipe(part, "units", "no number of units has a weight above 0");
  std::sort(choices.begin(), choices.end(),
            [](const UnitChoice& a, const UnitChoice& b) { return a.units < b.units; });
  return choices;
}

Result<Part> part_from(const Table& table) {
  OMNIBAL_RETURN_IF_ERROR(table.fields.only({"name", "samples", "units", "text_only", "text"}));
  Part part;
  OMNIBAL_ASSIGN(part.name, table.fields.text_or("name", ""));
  OMNIBAL_ASSIGN(part.samples, table.fields.integer("samples", 1, kMaxSamples));
  OMNIBAL_ASSIGN(part.text, text_from(table));
  OMNIBAL_ASSIGN(const bool text_only, table.fields.boolean_or("text_only", false));
  if (text_only && table.fields.has("units")) {
    return Error(ErrorCode::kConflictingKeys, "a text-only part has no units")
        .in_file(table.file)
        .at_key(table.place + ".units");
  }
  if (text_only) return part;
  OMNIBAL_ASSIGN(part.units, choices_from(table));
  return part;
}

Result<Dataset> dataset_from(const Table& table) {
  OMNIBAL_RETURN_IF_ERROR(table.fields.only({"name", "part"}));
  Dataset dataset;
  OMNIBAL_ASSIGN(dataset.name, table.fields.text("name"));
  OMNIBAL_ASSIGN(const Json* parts, table.fields.array("part"));
  for (std::size_t i = 0; i < parts->size(); ++i) {
    const std::string place = fmt::format("{}.part[{}]", table.place, i);
    OMNIBAL_ASSIGN(Part part, part_from(table_at((*parts)[i], table.file, place)));
    dataset.parts.push_back(std::move(part));
  }
  if (dataset.parts.empty()) return bad_recipe(table, "part", "a dataset needs a part");
  return dataset;
}

Result<VisionUnit> unit_from(const Json& root, const std::string& file) {
  if (!root.contains("unit")) return VisionUnit{};
  OMNIBAL_ASSIGN(const Json* object, JsonFields(root, file).object("unit"));
  const JsonFields fields(*object, file, "unit");
  OMNIBAL_RETURN_IF_ERROR(fields.only({"name", "vision_tokens", "llm_tokens"}));
  return read_vision_unit(fields);
}

Status check_whole(const Recipe& recipe, const std::string& file) {
  if (recipe.datasets.empty() || num_samples(recipe) > kMaxSamples) {
    return Error(ErrorCode::kOutOfRange, "a recipe needs a dataset, and at most 2^31 - 1 samples")
        .in_file(file)
        .at_key("dataset")
        .with_value(num_samples(recipe))
        .with_limit(kMaxSamples);
  }
  if (recipe.datasets.size() > kMaxSources) {
    return Error(ErrorCode::kOutOfRange, "a recipe has too many datasets")
        .in_file(file)
        .at_key("dataset")
        .with_value(static_cast<std::int64_t>(recipe.datasets.size()))
        .with_limit(static_cast<std::int64_t>(kMaxSources));
  }
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < recipe.datasets.size(); ++i) {
    if (names.insert(recipe.datasets[i].name).second) continue;
    return Error(ErrorCode::kDuplicateName,
                 fmt::format("duplicate name \"{}\"", recipe.datasets[i].name))
        .in_file(file)
        .at_key(fmt::format("dataset[{}].name", i));
  }
  return {};
}

}  // namespace

Result<Recipe> read_recipe(const std::string& path) {
  OMNIBAL_ASSIGN(const Json root, codec::read_toml(path));
  const JsonFields fields(root, path);
  OMNIBAL_RETURN_IF_ERROR(fields.only({"name", "unit", "max_tokens", "dataset"}));
  Recipe recipe;
  OMNIBAL_ASSIGN(recipe.name, fields.text("name"));
  OMNIBAL_ASSIGN(recipe.unit, unit_from(root, path));
  OMNIBAL_ASSIGN(recipe.max_tokens, fields.integer_or("max_tokens", 4096, 1, kMaxLength));
  OMNIBAL_ASSIGN(const Json* datasets, fields.array("dataset"));
  for (std::size_t i = 0; i < datasets->size(); ++i) {
    OMNIBAL_ASSIGN(Dataset dataset,
                   dataset_from(table_at((*datasets)[i], path, fmt::format("dataset[{}]", i))));
    recipe.datasets.push_back(std::move(dataset));
  }
  OMNIBAL_RETURN_IF_ERROR(check_whole(recipe, path));
  return recipe;
}

}  // namespace omnibal::corpus
