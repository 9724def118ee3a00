// SPDX-License-Identifier: Apache-2.0
//
// Recompute: what of a layer runs forward again in its backward instead of being kept, in the
// planner's words (docs/methods/cost.md).
//
//   Recompute choice = Recompute::kMlp;         // "mlp" of a plan's recompute_choice
//   runs_mlp_again(choice);                     // true
//
// Not a choice of the trainer's: a plan or the configuration names it.
#pragma once

namespace omnibal::runtime {

enum class Recompute {
  kNothing,
  kAttention,        // norm, q k v, attention; not the output projection
  kMlp,              // norm, up and gate, activation; not the last matrix
  kAttentionAndMlp,  // both, one after the other
  kEverything        // from the layer's input
};

constexpr bool runs_attention_again(Recompute choice) {
  return choice == Recompute::kAttention || choice == Recompute::kAttentionAndMlp;
}
constexpr bool runs_mlp_again(Recompute choice) {
  return choice == Recompute::kMlp || choice == Recompute::kAttentionAndMlp;
}

}  // namespace omnibal::runtime
