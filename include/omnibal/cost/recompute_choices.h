// SPDX-License-Identifier: Apache-2.0
//
// Ways to keep less of a layer that a profile names beside recomputing all of it, and which of them
// each layer takes.
//
//   keep_choices(profile, ChoiceSet::kSelective);          // "attention", "mlp"; not "offload"
//   const auto costs = evaluate_choices(profile, load);    // costs[12][0].kept_bytes
//   const Profile chosen = with_choices(profile, choices); // for rooms that know no names
//
// Not for choosing them: room joint.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "omnibal/cost/profile.h"

namespace omnibal::cost {

/// One choice of one layer at one load.
struct ChoiceCost {
  double recompute_s = 0;
  std::int64_t kept_bytes = 0;
  std::int64_t transient_bytes = 0;
};
/// recompute_choices of every layer; none where it has no backward. O(layers x choices).
std::vector<std::vector<ChoiceCost>> evaluate_choices(const Profile& profile, const Load& load);

/// How each layer spares memory: 0 keeps everything, 1 recomputes all of itself, 2 + k takes its
/// recompute_choices[k].
using LayerChoices = std::vector<std::int32_t>;
inline constexpr std::int32_t kKeepEverything = 0;
inline constexpr std::int32_t kRecomputeAll = 1;
inline constexpr std::int32_t kFirstNamedChoice = 2;

/// The same layers, recompute_s, recomputed_bytes and transient_bytes of each being those of its
/// choice: whoever knows only layers that recompute or do not needs no more than that. No layer of
/// the result has named choices. `choices` empty: no layer takes one. O(layers).
Profile with_choices(Profile profile, const LayerChoices& choices);

/// A layer that takes one of its named choices, as files write it.
struct NamedChoice {
  std::int64_t layer = 0;
  std::string name;

  friend bool operator==(const NamedChoice&, const NamedChoice&) = default;
};
/// By layer, ascending.
std::vector<NamedChoice> named_choices(const Profile& profile, const LayerChoices& choices);
/// And back: `recompute[l]`: layer l recomputes all of itself. Errors: kOutOfRange (no such layer,
/// a name that the layer's choices lack), kConflictingKeys (a layer with two choices).
Result<LayerChoices> choices_of(const Profile& profile, const std::vector<bool>& recompute,
                                const std::vector<NamedChoice>& named);
/// Which layers take any choice.
std::vector<bool> spares_memory(const LayerChoices& choices);

/// Which named choices may be taken at all.
enum class ChoiceSet {
  kFull,       // none: a layer recomputes all of itself or nothing
  kSelective,  // all but "offload"
  kOffload     // all
};
inline constexpr std::string_view kOffloadChoice = "offload";
std::vector<std::string> choice_sets();  // "full", "selective", "offload"
/// Error: kInvalidArgument, naming the words there are.
Result<ChoiceSet> parse_choice_set(std::string_view text);
/// Leaves only the choices of the set.
void keep_choices(Profile& profile, ChoiceSet set);

}  // namespace omnibal::cost
