// SPDX-License-Identifier: Apache-2.0
#include "omnibal/cost/recompute_choices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "omnibal/base/name_table.h"

namespace omnibal::cost {
namespace {

constexpr std::array kChoiceSets = {
    Named{ChoiceSet::kFull, "full"},
    Named{ChoiceSet::kSelective, "selective"},
    Named{ChoiceSet::kOffload, "offload"},
};

std::vector<std::string> names_of(const LayerProfile& layer) {
  std::vector<std::string> names;
  for (const RecomputeChoice& choice : layer.recompute_choices) names.push_back(choice.name);
  return names;
}

Error no_such_choice(const LayerProfile& layer, const NamedChoice& named) {
  const std::vector<std::string> names = names_of(layer);
  return Error(ErrorCode::kOutOfRange, fmt::format("layer {} (\"{}\") has no choice \"{}\"",
                                                   named.layer, layer.name, named.name))
      .at_key("recompute_choice")
      .with_value(named.name)
      .with_hint(names.empty() ? std::string("the profile gives it none")
                               : fmt::format("it has {}", fmt::join(names, ", ")));
}

}  // namespace

std::vector<NamedChoice> named_choices(const Profile& profile, const LayerChoices& choices) {
  std::vector<NamedChoice> named;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i] < kFirstNamedChoice) continue;
    const auto index = static_cast<std::size_t>(choices[i] - kFirstNamedChoice);
    named.push_back(
        {static_cast<std::int64_t>(i), profile.layers[i].recompute_choices[index].name});
  }
  return named;
}

Result<LayerChoices> choices_of(const Profile& profile, const std::vector<bool>& recompute,
                                const std::vector<NamedChoice>& named) {
  LayerChoices choices(recompute.begin(), recompute.end());
  const auto num_layers = static_cast<std::int64_t>(choices.size());
  for (const NamedChoice& one : named) {
    if (one.layer < 0 || one.layer >= num_layers) {
      return Error(ErrorCode::kOutOfRange, fmt::format("there is no layer {}", one.layer))
          .at_key("recompute_choice")
          .with_value(one.layer)
          .with_limit(num_layers - 1);
    }
    const auto layer = static_cast<std::size_t>(one.layer);
    if (choices[layer] != kKeepEverything) {
      return Error(ErrorCode::kConflictingKeys, fmt::format("layer {} has two choices", one.layer))
          .at_key("recompute_choice")
          .with_value(one.layer)
          .with_hint("a layer recomputes all of itself, or takes one named choice");
    }
    const std::vector<std::string> names = names_of(profile.layers[layer]);
    const auto found = std::ranges::find(names, one.name);
    if (found == names.end()) return no_such_choice(profile.layers[layer], one);
    choices[layer] = kFirstNamedChoice + static_cast<std::int32_t>(found - names.begin());
  }
  return choices;
}

std::vector<bool> spares_memory(const LayerChoices& choices) {
  std::vector<bool> spares;
  for (const std::int32_t choice : choices) spares.push_back(choice != kKeepEverything);
  return spares;
}

std::vector<std::string> choice_sets() { return names_in(kChoiceSets); }

Result<ChoiceSet> parse_choice_set(std::string_view text) {
  return parse_name(kChoiceSets, "set of choices", "recompute-choices", text);
}

void keep_choices(Profile& profile, ChoiceSet set) {
  for (LayerProfile& layer : profile.layers) {
    std::erase_if(layer.recompute_choices, [&](const RecomputeChoice& choice) {
      return set == ChoiceSet::kFull ||
             (set == ChoiceSet::kSelective && choice.name == kOffloadChoice);
    });
  }
}

Profile with_choices(Profile profile, const LayerChoices& choices) {
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    LayerProfile& layer = profile.layers[i];
    if (!choices.empty() && choices[i] >= kFirstNamedChoice) {
      const auto index = static_cast<std::size_t>(choices[i] - kFirstNamedChoice);
      const RecomputeChoice& choice = layer.recompute_choices[index];
      layer.recompute_s = choice.recompute_s;
      layer.recomputed_bytes = choice.kept_bytes;
      layer.transient_bytes = choice.transient_bytes;
    }
    layer.recompute_choices.clear();
  }
  return profile;
}

}  // namespace omnibal::cost
