// SPDX-License-Identifier: Apache-2.0
//
// Workload W of the literature comparison: 45 ViT layers of 3.1 ms, projector 0.5, token embedding
// 0.3, 48 LLM layers of 5.2, head 2.0.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "omnibal/partition/partition.h"

namespace omnibal::partition {

inline std::vector<double> workload_w_ms() {
  std::vector<double> ms(45, 3.1);
  ms.push_back(0.5);
  ms.push_back(0.3);
  ms.insert(ms.end(), 48, 5.2);
  ms.push_back(2.0);
  return ms;
}

inline std::vector<std::optional<model::LayerKind>> workload_w_kinds() {
  std::vector<std::optional<model::LayerKind>> kinds(45, model::LayerKind::kVisionBlock);
  kinds.push_back(model::LayerKind::kProjector);
  kinds.push_back(model::LayerKind::kTokenEmbedding);
  kinds.insert(kinds.end(), 48, model::LayerKind::kLlmBlock);
  kinds.push_back(model::LayerKind::kHead);
  return kinds;
}

inline std::vector<double> stage_sums(const std::vector<double>& weights, const Cuts& cuts) {
  std::vector<double> sums;
  for (const StageRange& r : stage_ranges(cuts, static_cast<std::int32_t>(weights.size()))) {
    sums.push_back(std::accumulate(weights.begin() + r.begin, weights.begin() + r.end, 0.0));
  }
  return sums;
}

inline double bottleneck(const std::vector<double>& weights, const Cuts& cuts) {
  const std::vector<double> sums = stage_sums(weights, cuts);
  return *std::max_element(sums.begin(), sums.end());
}

inline double variance(const std::vector<double>& weights, const Cuts& cuts) {
  const std::vector<double> sums = stage_sums(weights, cuts);
  const auto count = static_cast<double>(sums.size());
  const double mean = std::accumulate(sums.begin(), sums.end(), 0.0) / count;
  double squares = 0;
  for (const double sum : sums) squares += (sum - mean) * (sum - mean);
  return squares / count;
}

inline Cuts cuts_of(std::initializer_list<std::int32_t> layers) {
  Cuts cuts;
  for (const std::int32_t layer : layers) cuts.push_back(LayerIndex{layer});
  return cuts;
}

}  // namespace omnibal::partition
