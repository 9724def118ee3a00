// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/limit_search.h"

namespace omnibal::plan {
namespace {

using codec::Json;

/// A pair of caps beside the chosen one: how much longer a step takes, nothing where it does not
/// fit.
Json compared(const CapPrediction& other, const CapPrediction& best) {
  Json json = {
      {"vision_cap", other.vision_cap}, {"token_cap", other.token_cap}, {"fits", other.fits()}};
  if (other.fits()) {
    json["seconds_per_1000_samples"] = 1000 * other.seconds_per_sample;
    json["slower_by"] = other.seconds_per_sample / best.seconds_per_sample - 1;
  }
  return json;
}

Json compared(const std::vector<CapPrediction>& others, const CapPrediction& best) {
  Json json = Json::array();
  for (const CapPrediction& other : others) json.push_back(compared(other, best));
  return json;
}

/// What keeps a cap from being other than it is.
const char* binds(const CapReason& reason) {
  if (reason.given) return "given";
  if (reason.larger && !reason.larger->fits()) return "memory";
  return reason.holds_largest_sample ? "largest_sample" : "time";
}

Json reason_json(const CapReason& reason, const CapPrediction& best) {
  Json json = {{"binds", binds(reason)}};
  if (reason.smaller) json["smaller"] = compared(*reason.smaller, best);
  if (reason.larger) json["larger"] = compared(*reason.larger, best);
  return json;
}

}  // namespace

Json to_json(const LimitChoice& choice) {
  const LimitContext& context = choice.context;
  const CapPrediction& best = choice.best;
  Json json = {
      {"model", context.model},
      {"cluster", context.cluster},
      {"parallel", {{"tp", context.sizes.tp}, {"pp", context.sizes.pp}, {"dp", context.sizes.dp}}},
      {"global_batch", context.global_batch},
      {"memory_bytes", context.memory_bytes},
      {"seconds_per_1000_samples", 1000 * best.seconds_per_sample},
      {"samples_per_pack", best.samples_per_pack},
      {"micro_batches", best.micro_batches},
      {"peak_bytes", best.peak_bytes},
      {"recomputed_layers", best.recomputed_layers},
      {"recompute_share", best.recompute_share},
      {"vision", reason_json(choice.vision, best)},
      {"tokens", reason_json(choice.tokens, best)},
      {"runners_up", compared(choice.runners_up, best)},
      {"too_large", choice.too_large},
      {"predictions", choice.predictions}};
  if (choice.paper) json["paper"] = compared(*choice.paper, best);
  return json;
}

}  // namespace omnibal::plan
