// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "omnibal/cost/profile.h"

namespace omnibal::cost {
namespace {

/// All that is ever held or sent of a layer, in doubles: sums of what is refused must not overflow.
double most_bytes(const LayerProfile& layer, const Load& load, double micro_batches) {
  double kept = layer.activation_bytes.at(load) + layer.recomputed_bytes.at(load);
  double transient = layer.transient_bytes ? layer.transient_bytes->at(load) : 0;
  for (const RecomputeChoice& choice : layer.recompute_choices) {
    kept += choice.kept_bytes.at(load);
    transient += choice.transient_bytes.at(load);
  }
  return layer.static_bytes.at(load) + layer.boundary_bytes.at(load) + transient +
         micro_batches * kept;
}

}  // namespace

Status check_bytes(const Profile& profile, const Load& load, std::int64_t micro_batches) {
  constexpr auto kLimit = static_cast<double>(kBytesLimit);
  double total = 0;
  double heaviest_bytes = 0;
  std::size_t heaviest = 0;
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    const double bytes = most_bytes(profile.layers[i], load, static_cast<double>(micro_batches));
    total += bytes;
    if (bytes <= heaviest_bytes) continue;
    heaviest_bytes = bytes;
    heaviest = i;
  }
  if (total < kLimit) return {};
  return Error(ErrorCode::kOutOfRange,
               fmt::format("{} micro-batches of {} vision units, {} tokens and {} token pairs need "
                           "more bytes than can be counted; layer \"{}\" needs most",
                           micro_batches, load.vision_units, load.tokens, load.token_pairs,
                           profile.layers[heaviest].name))
      .at_key(fmt::format("layers[{}]", heaviest))
      .with_value(heaviest_bytes)
      .with_limit(kBytesLimit);
}

}  // namespace omnibal::cost
