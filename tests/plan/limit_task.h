// SPDX-License-Identifier: Apache-2.0
//
// Test support: a small model on two stages and two ranks, for which caps are chosen.
#pragma once

#include "omnibal/cluster/cluster.h"
#include "omnibal/cost/analytic.h"
#include "omnibal/model/model.h"
#include "omnibal/plan/limit_search.h"
#include "pack/placement.h"

namespace omnibal::plan {

inline TrainingTarget small_target(std::int64_t memory_bytes, std::int64_t global_batch = 16) {
  TrainingTarget target;
  target.model_name = "internvit-300m+qwen2.5-0.5b";
  target.cluster = *cluster::load_cluster("a100-80g");
  target.sizes = {.tp = 1, .pp = 2, .dp = 2};
  target.profile = *cost::analytic_profile(*model::load_model(target.model_name), target.cluster,
                                           {.tp = 1, .dp = 2});
  target.memory_bytes = memory_bytes;
  target.global_batch = global_batch;
  return target;
}

inline constexpr std::int64_t kAmple = std::int64_t{80} << 30;

/// Images of 1 to 5 units with their 256 tokens each, and some text.
inline pack::TestSamples image_samples(PhiloxRng& rng, std::uint32_t n) {
  pack::TestSamples samples;
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t vision = 1 + rng.below(5);
    samples.add(vision, 256 * vision + 20 + rng.below(500));
  }
  return samples;
}

}  // namespace omnibal::plan
