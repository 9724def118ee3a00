// SPDX-License-Identifier: Apache-2.0
#include "omnibal/metrics/stages.h"

#include <algorithm>

namespace omnibal::metrics {
namespace {

StageSummary summarize(std::span<const cost::LayerCost> layers, std::size_t begin, std::size_t end,
                       const std::vector<bool>& recompute, std::int64_t in_flight) {
  StageSummary stage;
  stage.first_layer = static_cast<std::int32_t>(begin);
  stage.num_layers = static_cast<std::int32_t>(end - begin);
  stage.in_flight = in_flight;
  for (std::size_t i = begin; i < end; ++i) {
    const cost::LayerCost& layer = layers[i];
    stage.forward_s += layer.forward_s;
    stage.backward_s += layer.backward_s();
    stage.static_bytes += layer.static_bytes;
    if (recompute[i]) {
      stage.recompute_s += layer.recompute_s;
      stage.kept_bytes += layer.recomputed_bytes;
      stage.transient_bytes = std::max(stage.transient_bytes, layer.transient());
    } else {
      stage.kept_bytes += layer.activation_bytes;
    }
  }
  stage.peak_bytes = stage.static_bytes + in_flight * stage.kept_bytes + stage.transient_bytes;
  return stage;
}

double population_variance(std::span<const StageSummary> stages) {
  const auto count = static_cast<double>(stages.size());
  double mean = 0;
  for (const StageSummary& stage : stages) mean += stage.forward_s / count;
  double variance = 0;
  for (const StageSummary& stage : stages) {
    const double distance = stage.forward_s - mean;
    variance += distance * distance / count;
  }
  return variance;
}

/// Of any other cuts with as much recomputation in all: the slowest rank has at least its share
/// of the work, and at least the heaviest layer (taken without recomputation, which may fall on
/// others).
double lower_bound(std::span<const cost::LayerCost> layers, std::span<const RankSummary> ranks) {
  double total = 0;
  for (const RankSummary& rank : ranks) total += rank.busy_s;
  double bound = total / static_cast<double>(ranks.size());
  for (const cost::LayerCost& layer : layers) {
    bound = std::max(bound, layer.forward_s + layer.backward_s());
  }
  return bound;
}

}  // namespace

std::vector<StageSummary> summarize_stages(std::span<const cost::LayerCost> layers,
                                           std::span<const std::int32_t> cuts,
                                           const std::vector<bool>& recompute,
                                           std::span<const std::int64_t> in_flight) {
  std::vector<StageSummary> stages;
  stages.reserve(cuts.size() + 1);
  std::size_t begin = 0;
  for (std::size_t s = 0; s <= cuts.size(); ++s) {
    const std::size_t end = s < cuts.size() ? static_cast<std::size_t>(cuts[s]) : layers.size();
    stages.push_back(summarize(layers, begin, end, recompute, in_flight[s]));
    stages.back().rank = static_cast<std::int32_t>(s);
    begin = end;
  }
  return stages;
}

std::vector<RankSummary> summarize_ranks(std::span<const StageSummary> stages) {
  std::vector<RankSummary> ranks;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const auto index = static_cast<std::size_t>(stages[s].rank);
    if (index >= ranks.size()) ranks.resize(index + 1);
    RankSummary& rank = ranks[index];
    rank.stages.push_back(static_cast<std::int32_t>(s));
    rank.forward_s += stages[s].forward_s;
    rank.busy_s += stages[s].busy_s();
    rank.static_bytes += stages[s].static_bytes;
  }
  return ranks;
}

PartitionMetrics partition_metrics(std::span<const cost::LayerCost> layers,
                                   std::span<const StageSummary> stages) {
  constexpr double kMsPerS = 1e3;
  PartitionMetrics metrics;
  const std::vector<RankSummary> ranks = summarize_ranks(stages);
  for (const RankSummary& rank : ranks) {
    metrics.bottleneck_s = std::max(metrics.bottleneck_s, rank.busy_s);
    metrics.bottleneck_forward_s = std::max(metrics.bottleneck_forward_s, rank.forward_s);
  }
  for (const StageSummary& stage : stages) {
    if (stage.first_layer > 0) {
      const auto last_before = static_cast<std::size_t>(stage.first_layer) - 1;
      metrics.sum_comm_bytes += layers[last_before].boundary_bytes;
    }
  }
  metrics.var_forward_ms2 = population_variance(stages) * kMsPerS * kMsPerS;
  metrics.lower_bound_s = lower_bound(layers, ranks);
  return metrics;
}

}  // namespace omnibal::metrics
