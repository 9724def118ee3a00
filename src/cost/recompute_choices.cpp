// SPDX-License-Identifier: Apache-2.0
#include "omnibal/cost/recompute_choices.h"

#include <array>

#include "omnibal/base/name_table.h"

namespace omnibal::cost {
namespace {

constexpr std::array kChoiceSets = {
    Named{ChoiceSet::kFull, "full"},
    Named{ChoiceSet::kSelective, "selective"},
    Named{ChoiceSet::kOffload, "offload"},
};

}  // namespace

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
