// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cost/layer_numbering.h"
#include "cost/layer_read.h"
#include "cost/not_a_number.h"
#include "cost/profile_keys.h"
#include "omnibal/codec/files.h"
#include "omnibal/codec/json.h"
#include "omnibal/cost/load_json.h"

namespace omnibal::cost {
namespace {

using codec::Json;
using codec::JsonFields;

/// Needed where a cost depends on it: tables are shown at this load.
Result<Load> read_reference_load(const JsonFields& fields, const std::string& file, bool needed) {
  if (!needed && !fields.has("load")) return Load{};
  constexpr const char* kHint =
      R"(costs depend on it: "load": {"vision_units": 9, "tokens": 4096, "token_pairs": 5000000})";
  Result<const Json*> object = fields.object("load");
  if (!object) return std::move(object).error().with_hint(kHint);
  Result<Load> load = read_load(JsonFields(**object, file, "load"));
  if (!load && load.error().hint.empty()) return std::move(load).error().with_hint(kHint);
  return load;
}

bool depends_on_load(const Profile& profile) {
  const auto depends = [](const LinearCost& cost) {
    return cost != LinearCost{.constant = cost.constant};
  };
  for (const LayerProfile& layer : profile.layers) {
    for (const CostKey& key : kCostKeys) {
      if (depends(layer.*key.member)) return true;
    }
    if (layer.transient_bytes && depends(*layer.transient_bytes)) return true;
    for (const RecomputeChoice& choice : layer.recompute_choices) {
      for (const ChoiceKey& key : kChoiceKeys) {
        if (depends(choice.*key.member)) return true;
      }
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
  Status choices = check_choices(profile);
  if (!choices.ok()) return std::move(choices).error().in_file(file);
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
