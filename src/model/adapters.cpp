// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "omnibal/base/name_table.h"
#include "omnibal/model/model.h"
#include "omnibal/model/parameters.h"

namespace omnibal::model {
namespace {

constexpr std::array kTargets = {
    Named{AdapterTarget::kQuery, "q"},  Named{AdapterTarget::kKey, "k"},
    Named{AdapterTarget::kValue, "v"},  Named{AdapterTarget::kQueryKeyValue, "qkv"},
    Named{AdapterTarget::kOutput, "o"}, Named{AdapterTarget::kGate, "gate"},
    Named{AdapterTarget::kUp, "up"},    Named{AdapterTarget::kDown, "down"},
};

/// Words that stand for several targets.
struct TargetGroup {
  std::string_view name;
  bool attention = false;
  bool mlp = false;
};
constexpr std::array kGroups = {TargetGroup{"all", true, true},
                                TargetGroup{"attention", true, false},
                                TargetGroup{"mlp", false, true}};

std::vector<AdapterTarget> targets_of(const TargetGroup& group) {
  std::vector<AdapterTarget> targets;
  if (group.attention) {
    targets = {AdapterTarget::kQuery, AdapterTarget::kKey, AdapterTarget::kValue,
               AdapterTarget::kOutput};
  }
  if (group.mlp) {
    targets.insert(targets.end(), {AdapterTarget::kGate, AdapterTarget::kUp, AdapterTarget::kDown});
  }
  return targets;
}

Result<std::vector<AdapterTarget>> targets_of(std::string_view word) {
  for (const TargetGroup& group : kGroups) {
    if (group.name == word) return targets_of(group);
  }
  const std::vector<std::string> words = adapter_targets();
  if (std::ranges::find(words, word) == words.end()) {
    return unknown_name("target of adapters", "lora-targets", word, words);
  }
  OMNIBAL_ASSIGN(const AdapterTarget target,
                 parse_name(kTargets, "target of adapters", "lora-targets", word));
  return std::vector{target};
}

/// Each once, in the order of the table.
Result<std::vector<AdapterTarget>> parse_targets(std::span<const std::string> words) {
  std::vector<AdapterTarget> all;
  for (const std::string& word : words) {
    OMNIBAL_ASSIGN(const std::vector<AdapterTarget> targets, targets_of(word));
    all.insert(all.end(), targets.begin(), targets.end());
  }
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
  return all;
}

Status check_targets(const Adapters& adapters, std::string_view part,
                     std::span<const std::string> words) {
  const bool parts = adapters.on(AdapterTarget::kQuery) || adapters.on(AdapterTarget::kKey) ||
                     adapters.on(AdapterTarget::kValue);
  if (adapters.on(AdapterTarget::kQueryKeyValue) && parts) {
    return Error(ErrorCode::kInvalidArgument,
                 "an adapter on the fused projection qkv does not go with one on q, k or v")
        .at_key("lora-targets")
        .with_value(fmt::format("{}", fmt::join(words, ",")))
        .with_hint("name qkv, or q, k and v");
  }
  if (!adapters.targets.empty()) return {};
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("blocks of {} have no linear layer of that name", part))
      .at_key("lora-targets")
      .with_value(fmt::format("{}", fmt::join(words, ",")))
      .with_hint(fmt::format("there are {}; gate is of gated MLPs alone",
                             fmt::join(adapter_targets(), ", ")));
}

void note_adapters(ModelSpec& model, LayerKind kind, std::int64_t parameters) {
  for (Layer& layer : model.layers) {
    if (layer.kind != kind) continue;
    layer.trainable = true;
    layer.parameters += parameters - layer.adapter_parameters;
    layer.adapter_parameters = parameters;
  }
}

}  // namespace

bool Adapters::on(AdapterTarget target) const {
  return std::ranges::find(targets, target) != targets.end();
}

std::vector<std::string> adapter_targets() {
  std::vector<std::string> words;
  for (const TargetGroup& group : kGroups) words.emplace_back(group.name);
  for (std::string& name : names_in(kTargets)) words.push_back(std::move(name));
  return words;
}

std::vector<std::string> target_names(const Adapters& adapters) {
  std::vector<std::string> names;
  for (const AdapterTarget target : adapters.targets) names.emplace_back(name_in(kTargets, target));
  return names;
}

Status add_adapters(ModelSpec& model, std::string_view part, std::int64_t rank,
                    std::span<const std::string> targets) {
  if (part != "vision" && part != "llm") {
    return Error(ErrorCode::kInvalidArgument, fmt::format("no part \"{}\" takes adapters", part))
        .with_value(std::string(part))
        .with_limit(std::string("vision, llm"));
  }
  if (rank < 1) {
    return Error(ErrorCode::kInvalidArgument, "adapters have a rank of at least 1")
        .at_key("lora-rank")
        .with_value(rank);
  }
  const bool vision = part == "vision";
  Adapters adapters{.rank = rank};
  OMNIBAL_ASSIGN(adapters.targets, parse_targets(targets));
  if (vision && !model.vision.gated_mlp) std::erase(adapters.targets, AdapterTarget::kGate);
  OMNIBAL_RETURN_IF_ERROR(check_targets(adapters, part, targets));
  OMNIBAL_RETURN_IF_ERROR(freeze(model, part));
  const BlockWidths widths = vision ? block_widths(model.vision) : block_widths(model.language);
  note_adapters(model, vision ? LayerKind::kVisionBlock : LayerKind::kLlmBlock,
                adapter_parameters(widths, adapters));
  (vision ? model.vision.adapters : model.language.adapters) = std::move(adapters);
  return {};
}

}  // namespace omnibal::model
