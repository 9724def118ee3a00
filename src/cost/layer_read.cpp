// SPDX-License-Identifier: Apache-2.0
#include "cost/layer_read.h"

#include <fmt/format.h>

#include <algorithm>

#include "cost/profile_keys.h"

namespace omnibal::cost {
namespace {

using codec::Json;
using codec::JsonFields;

constexpr double kMaxSeconds = 1e6;
constexpr double kMaxBytes = 1e15;
constexpr double kMaxParameters = 1e15;

double largest(std::string_view key) { return key.ends_with("_s") ? kMaxSeconds : kMaxBytes; }

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

/// An object of the document that holds costs, and where it stands: a layer, or a choice of one.
struct CostFields {
  const Json& json;
  const std::string& file;
  std::string place;

  JsonFields fields() const { return JsonFields(json, file, place); }
};

Result<LinearCost> read_terms(const CostFields& owner, std::string_view key) {
  const Json& object = owner.json[key];
  const JsonFields terms(object, owner.file, fmt::format("{}.{}", owner.place, key));
  OMNIBAL_RETURN_IF_ERROR(terms.only(kTermNames));
  LinearCost cost;
  for (const TermKey& term : kTermKeys) {
    OMNIBAL_ASSIGN(cost.*term.member, terms.number_or(term.name, 0, 0, largest(key)));
  }
  return cost;
}

Result<LinearCost> read_cost(const CostFields& owner, std::string_view key) {
  if (owner.json.contains(key) && owner.json[key].is_object()) return read_terms(owner, key);
  OMNIBAL_ASSIGN(const double constant, owner.fields().number(key, 0, largest(key)));
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
  const CostFields costs{entry.json, entry.file, entry.place};
  for (const CostKey& key : kCostKeys) {
    if (!key.required && !entry.json.contains(key.name)) {
      if (key.fallback != nullptr) layer.*key.member = layer.*key.fallback;
      continue;
    }
    OMNIBAL_ASSIGN(layer.*key.member, read_cost(costs, key.name));
  }
  if (entry.json.contains(kTransientKey)) {
    OMNIBAL_ASSIGN(layer.transient_bytes, read_cost(costs, kTransientKey));
  }
  return check_forward(entry, layer);
}

/// A name of its own, which none of the words for every layer's choices is.
Status check_choice_name(const std::string& name, const LayerProfile& layer,
                         const CostFields& entry) {
  const bool reserved = name.empty() || name == "none" || name == "full";
  const auto named = [&](const RecomputeChoice& choice) { return choice.name == name; };
  const bool twice = std::ranges::any_of(layer.recompute_choices, named);
  if (!reserved && !twice) return {};
  return Error(twice ? ErrorCode::kDuplicateName : ErrorCode::kOutOfRange,
               twice ? fmt::format("there are two choices \"{}\"", name)
                     : fmt::format("a choice cannot be called \"{}\"", name))
      .in_file(entry.file)
      .at_key(entry.place + ".name")
      .with_value(name)
      .with_hint(
          "keeping everything and recomputing everything need no entry; give every other "
          "choice of a layer a name of its own");
}

Result<RecomputeChoice> read_choice(const CostFields& entry, const LayerProfile& layer) {
  OMNIBAL_RETURN_IF_ERROR(
      entry.fields().only({"name", "recompute_s", "kept_bytes", kTransientKey}));
  RecomputeChoice choice;
  OMNIBAL_ASSIGN(choice.name, entry.fields().text("name"));
  OMNIBAL_RETURN_IF_ERROR(check_choice_name(choice.name, layer, entry));
  for (const ChoiceKey& key : kChoiceKeys) {
    if (key.name == kTransientKey && !entry.json.contains(kTransientKey)) {
      choice.transient_bytes = layer.activation_bytes;
      continue;
    }
    OMNIBAL_ASSIGN(choice.*key.member, read_cost(entry, key.name));
  }
  return choice;
}

Status read_choices(const LayerEntry& entry, LayerProfile& layer) {
  const JsonFields fields = entry.fields();
  if (!fields.has(kChoicesKey)) return {};
  OMNIBAL_ASSIGN(const Json* list, fields.array(kChoicesKey));
  for (const Json& json : *list) {
    const std::string place =
        fmt::format("{}.{}[{}]", entry.place, kChoicesKey, layer.recompute_choices.size());
    OMNIBAL_ASSIGN(RecomputeChoice choice, read_choice({json, entry.file, place}, layer));
    layer.recompute_choices.push_back(std::move(choice));
  }
  return {};
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
  OMNIBAL_ASSIGN(layer.adapter_parameters,
                 fields.number_or("adapter_parameters", 0, 0, layer.parameters));
  OMNIBAL_RETURN_IF_ERROR(read_costs(entry, layer));
  return read_choices(entry, layer);
}

}  // namespace

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

Status check_choices(const Profile& profile) {
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    const LayerProfile& layer = profile.layers[i];
    const double activation = layer.activation_bytes.at(profile.load);
    for (std::size_t c = 0; c < layer.recompute_choices.size(); ++c) {
      const RecomputeChoice& choice = layer.recompute_choices[c];
      const double kept = choice.kept_bytes.at(profile.load);
      if (kept <= activation) continue;
      return Error(ErrorCode::kOutOfRange,
                   fmt::format("layer \"{}\": choice \"{}\" keeps more than the whole activation",
                               layer.name, choice.name))
          .at_key(fmt::format("layers[{}].{}[{}].kept_bytes", i, kChoicesKey, c))
          .with_value(kept)
          .with_limit(activation)
          .with_hint("a choice keeps part of activation_bytes; leave out one that gains nothing");
    }
  }
  return {};
}

}  // namespace omnibal::cost
