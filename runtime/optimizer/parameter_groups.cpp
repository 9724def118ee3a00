// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/optimizer/parameter_groups.h"

#include <algorithm>
#include <array>

namespace omnibal::runtime {
namespace {

struct Part {
  std::string_view prefix;
  std::string_view name;
};
constexpr std::array kParts = {
    Part{"vision_tower.", "vision"},
    Part{"multi_modal_projector.", "projector"},
    Part{"language_model.", "language"},
};

Status check_part(const std::string& name) {
  const bool known =
      std::ranges::any_of(kParts, [&](const Part& part) { return part.name == name; });
  if (known) return {};
  return Error(ErrorCode::kOutOfRange, "no such part of a model")
      .with_value(name)
      .with_limit("vision, projector, language");
}

std::optional<GroupSettings> settings_of(std::string_view name, std::string_view part,
                                         const GroupRules& rules) {
  const std::string part_name(part);
  if (std::ranges::count(rules.frozen, part_name) > 0) return std::nullopt;
  const auto own_rate = rules.part_lr.find(part_name);
  return GroupSettings{.lr = own_rate == rules.part_lr.end() ? rules.lr : own_rate->second,
                       .weight_decay = decays(name) ? rules.weight_decay : 0.0};
}

std::size_t index_of(const GroupSettings& settings, std::vector<GroupSettings>& all) {
  const auto found = std::ranges::find(all, settings);
  const auto index = static_cast<std::size_t>(found - all.begin());
  if (found == all.end()) all.push_back(settings);
  return index;
}

}  // namespace

std::optional<std::string_view> part_of(std::string_view parameter_name) {
  for (const Part& part : kParts) {
    if (parameter_name.starts_with(part.prefix)) return part.name;
  }
  return std::nullopt;
}

bool decays(std::string_view parameter_name) {
  if (parameter_name.ends_with("bias")) return false;
  // "layernorm_before", "q_norm", "layer_norm1", and CLIP's own "pre_layrnorm".
  return parameter_name.find("norm") == std::string_view::npos;
}

Result<ParameterGroups> group_parameters(const std::vector<std::string>& names,
                                         const GroupRules& rules) {
  for (const std::string& part : rules.frozen) OMNIBAL_RETURN_IF_ERROR(check_part(part));
  for (const auto& [part, lr] : rules.part_lr) OMNIBAL_RETURN_IF_ERROR(check_part(part));
  ParameterGroups groups;
  for (const std::string& name : names) {
    const auto part = part_of(name);
    if (!part)
      return Error(ErrorCode::kUnsupportedModel, "a parameter of no part of a model")
          .with_value(name);
    const auto settings = settings_of(name, *part, rules);
    groups.of_parameter.emplace_back();
    if (settings) groups.of_parameter.back() = index_of(*settings, groups.settings);
  }
  return groups;
}

}  // namespace omnibal::runtime
