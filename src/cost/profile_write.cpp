// SPDX-License-Identifier: Apache-2.0
#include "cost/profile_keys.h"
#include "omnibal/codec/json.h"

namespace omnibal::cost {
namespace {

using codec::Json;

/// Whole numbers are written without a fraction: "600000000".
Json number(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  const bool whole = value >= -kExact && value <= kExact &&
                     value == static_cast<double>(static_cast<std::int64_t>(value));
  return whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

/// A number if it is one at any load, else its terms that are not zero.
Json cost_json(const LinearCost& cost) {
  if (cost == LinearCost{.constant = cost.constant}) return number(cost.constant);
  Json terms = Json::object();
  for (const TermKey& term : kTermKeys) {
    if (cost.*term.member != 0) terms[std::string(term.name)] = number(cost.*term.member);
  }
  return terms;
}

Json choice_json(const RecomputeChoice& choice) {
  Json json = {{"name", choice.name}};
  for (const ChoiceKey& key : kChoiceKeys) {
    json[std::string(key.name)] = cost_json(choice.*key.member);
  }
  return json;
}

Json layer_json(const LayerProfile& layer) {
  Json json = {{"name", layer.name}};
  if (layer.kind) json["kind"] = model::to_string(*layer.kind);
  json["trainable"] = layer.trainable;
  json["parameters"] = number(layer.parameters);
  if (layer.adapter_parameters > 0) json["adapter_parameters"] = number(layer.adapter_parameters);
  for (const CostKey& key : kCostKeys) json[std::string(key.name)] = cost_json(layer.*key.member);
  if (layer.transient_bytes) json[std::string(kTransientKey)] = cost_json(*layer.transient_bytes);
  if (layer.recompute_choices.empty()) return json;
  Json& choices = json[std::string(kChoicesKey)] = Json::array();
  for (const RecomputeChoice& choice : layer.recompute_choices) {
    choices.push_back(choice_json(choice));
  }
  return json;
}

}  // namespace

Status write_profile(const Profile& profile, const std::string& path) {
  Json json = {{"format", kProfileFormat}, {"version", kProfileVersion}};
  json["source"] = profile.source;
  if (!profile.provenance.empty()) {
    Json provenance = Json::object();
    for (const auto& [key, value] : profile.provenance) provenance[key] = value;
    json["provenance"] = provenance;
  }
  json["load"] = {{"vision_units", number(profile.load.vision_units)},
                  {"tokens", number(profile.load.tokens)},
                  {"token_pairs", number(profile.load.token_pairs)}};
  json["layers"] = Json::array();
  for (const LayerProfile& layer : profile.layers) json["layers"].push_back(layer_json(layer));
  return codec::write_json(path, json);
}

}  // namespace omnibal::cost
