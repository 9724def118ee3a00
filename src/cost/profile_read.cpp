// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cost/layer_numbering.h"
#include "cost/not_a_number.h"
#include "cost/profile_keys.h"
#include "omnibal/codec/files.h"
#include "omnibal/codec/json.h"
#include "omnibal/cost/load_json.h"

namespace omnibal::cost {
namespace {

using codec::Json;
using codec::JsonFields;

constexpr double kMaxSeconds = 1e6;
constexpr double kMaxBytes = 1e15;
constexpr double kMaxParameters = 1e15;

double largest(const CostKey& key) { return key.name.ends_with("_s") ? kMaxSeconds : kMaxBytes; }

/// One layer of the document, and where it stands.
struct LayerEntry {
  const Json& json;
  const std::string& file;
  std::string place;  // "layers[3]"
  std::string name;

  JsonFields fields() const { return JsonFields(json, file, place); }
  Error named(Error error) const {
    error.message = fmt::format("layer \"{}\": {}", name, error.message);
    return error;
  }
};

Result<LinearCost> read_terms(const LayerEntry& layer, const CostKey& key, const Json& object) {
  const JsonFields terms(object, layer.file, fmt::format("{}.{}", layer.place, key.name));
  OMNIBAL_RETURN_IF_ERROR(terms.only(kTermNames));
  LinearCost cost;
  for (const TermKey& term : kTermKeys) {
    OMNIBAL_ASSIGN(cost.*term.member, terms.number_or(term.name, 0, 0, largest(key)));
  }
  return cost;
}

Result<LinearCost> read_cost(const LayerEntry& layer, const CostKey& key) {
  const JsonFields fields = layer.fields();
  if (fields.has(key.name) && layer.json[key.name].is_object()) {
    return read_terms(layer, key, layer.json[key.name]);
  }
  OMNIBAL_ASSIGN(const double constant, fields.number(key.name, 0, largest(key)));
  return LinearCost{.constant = constant};
}

/// A table lookup may cost nothing worth counting; any other layer takes time.
Status check_forward(const LayerEntry& entry, const LayerProfile& layer) {
  if (!layer.forward_s.is_zero() || layer.kind == model::LayerKind::kTokenEmbedding) return {};
  return Error(ErrorCode::kOutOfRange, "forward_s is 0, a layer that runs takes time")
      .in_file(entry.file)
      .at_key(entry.place + ".forward_s")
      .with_value(0.0)
      .with_hint("only a token_embedding may cost nothing; leave the layer out or measure it");
}

Status read_costs(const LayerEntry& entry, LayerProfile& layer) {
  for (const CostKey& key : kCostKeys) {
    if (!key.required && !entry.json.contains(key.name)) {
      if (key.fallback != nullptr) layer.*key.member = layer.*key.fallback;
      continue;
    }
    OMNIBAL_ASSIGN(layer.*key.member, read_cost(entry, key));
  }
  return check_forward(entry, layer);
}

Status read_layer_fields(const LayerEntry& entry, LayerProfile& layer) {
  const JsonFields fields = entry.fields();
  OMNIBAL_RETURN_IF_ERROR(fields.only(kLayerKeys));
  if (fields.has("kind")) {
    OMNIBAL_ASSIGN(const std::string kind, fields.text("kind"));
    Result<model::LayerKind> parsed = model::parse_layer_kind(kind);
    if (!parsed.ok()) {
      return std::move(parsed).error().in_file(entry.file).at_key(entry.place + ".kind");
    }
    layer.kind = *parsed;
  }
  OMNIBAL_ASSIGN(layer.trainable, fields.boolean_or("trainable", true));
  OMNIBAL_ASSIGN(layer.parameters, fields.number_or("parameters", 0, 0, kMaxParameters));
  return read_costs(entry, layer);
}

Result<LayerProfile> read_layer(const Json& json, const std::string& file, std::size_t index) {
  LayerEntry entry{json, file, fmt::format("layers[{}]", index), ""};
  LayerProfile layer;
  OMNIBAL_ASSIGN(layer.name, entry.fields().text("name"));
  entry.name = layer.name;
  if (Status status = read_layer_fields(entry, layer); !status.ok()) {
    return entry.named(std::move(status).error());
  }
  return layer;
}

/// Needed where a cost depends on it: tables are shown at this load.
Result<Load> read_reference_load(const JsonFields& fields, const std::string& file, bool needed) {
  if (!needed && !fields.has("load")) return Load{};
  OMNIBAL_ASSIGN(const Json* object, fields.object("load"));
  return read_load(JsonFields(*object, file, "load"));
}

bool depends_on_load(const Profile& profile) {
  for (const LayerProfile& layer : profile.layers) {
    for (const CostKey& key : kCostKeys) {
      const LinearCost& cost = layer.*key.member;
      if (cost != LinearCost{.constant = cost.constant}) return true;
    }
  }
  return false;
}

Status read_layers(const Json& list, const std::string& file, Profile& profile) {
  bool any_time = false;
  for (const Json& json : list) {
    OMNIBAL_ASSIGN(LayerProfile layer, read_layer(json, file, profile.layers.size()));
    any_time = any_time || !layer.forward_s.is_zero();
    profile.layers.push_back(std::move(layer));
  }
  if (!any_time) {
    return Error(ErrorCode::kOutOfRange,
                 profile.layers.empty() ? "the profile has no layers" : "no layer takes any time")
        .in_file(file)
        .at_key("layers");
  }
  Status names = check_layer_names(profile.layers);
  if (!names.ok()) return std::move(names).error().in_file(file);
  return {};
}

Status read_provenance(const JsonFields& fields, Profile& profile) {
  if (!fields.has("provenance")) return {};
  OMNIBAL_ASSIGN(const Json* object, fields.object("provenance"));
  for (const auto& [key, value] : object->items()) {
    profile.provenance.emplace_back(key,
                                    value.is_string() ? value.get<std::string>() : value.dump());
  }
  return {};
}

Result<Profile> from_json(const Json& root, const std::string& file) {
  OMNIBAL_RETURN_IF_ERROR(codec::check_format(root, file, kProfileFormat, kProfileVersion));
  const JsonFields fields(root, file);
  OMNIBAL_RETURN_IF_ERROR(
      fields.only({"format", "version", "source", "provenance", "load", "layers"}));
  Profile profile;
  OMNIBAL_ASSIGN(profile.source, fields.text_or("source", "manual"));
  OMNIBAL_RETURN_IF_ERROR(read_provenance(fields, profile));
  OMNIBAL_ASSIGN(const Json* list, fields.array("layers"));
  OMNIBAL_RETURN_IF_ERROR(read_layers(*list, file, profile));
  OMNIBAL_ASSIGN(profile.load, read_reference_load(fields, file, depends_on_load(profile)));
  return profile;
}

}  // namespace

Result<Profile> parse_profile(std::string_view text, const std::string& origin) {
  Result<Json> root = codec::parse_json(text, origin);
  if (root.ok()) return from_json(*root, origin);
  // Python writes NaN and Infinity, which are no JSON: say which layer has them.
  const std::string nulled = not_a_number_as_null(text);
  if (nulled == text) return std::move(root).error();
  OMNIBAL_ASSIGN(const Json repaired, codec::parse_json(nulled, origin));
  Result<Profile> profile = from_json(repaired, origin);
  if (profile.ok()) return std::move(root).error();
  Error error = std::move(profile).error();
  if (error.code == ErrorCode::kWrongType) {
    error.code = ErrorCode::kOutOfRange;
    error.value = std::string("NaN or Infinity");
    error.hint = "the file holds NaN or Infinity: write finite numbers";
  }
  return error;
}

Result<Profile> read_profile(const std::string& path) {
  OMNIBAL_ASSIGN(const std::string text, codec::read_file(path));
  return parse_profile(text, path);
}

}  // namespace omnibal::cost
