// SPDX-License-Identifier: Apache-2.0
#include "omnibal/simulate/stage_times.h"

#include <cassert>
#include <cmath>
#include <limits>

namespace omnibal::simulate {
namespace {

/// Seconds of `bytes` over `link`; nothing to send takes no time.
double transfer_s(const cluster::Link& link, double bytes) {
  return bytes > 0 ? link.latency_s + bytes / link.bytes_per_s : 0.0;
}

void resize(PipelineTimes& times, std::size_t num_stages, std::size_t num_micro_batches) {
  times.num_stages = static_cast<std::int32_t>(num_stages);
  times.num_micro_batches = static_cast<std::int32_t>(num_micro_batches);
  for (std::vector<double>* field : {&times.forward_s, &times.backward_s, &times.weight_grad_s,
                                     &times.recompute_s, &times.activation_s, &times.gradient_s}) {
    field->resize(num_stages * num_micro_batches);
  }
}

cost::Load in_whole_units(cost::Load load, std::int64_t multiple) {
  if (multiple == 1) return load;
  const auto step = static_cast<double>(multiple);
  load.vision_units = std::ceil(load.vision_units / step) * step;
  return load;
}

/// `recompute_s(layer)`: null where it keeps everything.
template <class RecomputeTime>
std::vector<StageCost> summed_stages(const PipelineLayers& layers, const partition::Cuts& cuts,
                                     const RecomputeTime& recompute_s) {
  const auto num_layers = static_cast<std::int32_t>(layers.times.size());
  std::vector<StageCost> stages;
  for (const partition::StageRange& range : partition::stage_ranges(cuts, num_layers)) {
    StageCost& stage = stages.emplace_back();
    const auto end = static_cast<std::size_t>(range.end);
    for (auto i = static_cast<std::size_t>(range.begin); i < end; ++i) {
      stage.forward_s += layers.times[i].forward_s;
      stage.backward_s += layers.times[i].backward_s;
      stage.weight_grad_s += layers.times[i].weight_grad_s;
      if (const cost::LinearCost* seconds = recompute_s(i)) stage.recompute_s += *seconds;
    }
    if (range.end == num_layers) continue;
    stage.boundary_bytes = layers.boundary_bytes[end - 1];
    stage.gradient_bytes = layers.gradient_bytes[end - 1];
  }
  return stages;
}

}  // namespace

PipelineLayers pipeline_layers(const cost::Profile& profile) {
  PipelineLayers layers{cost::layer_times(profile), {}, {}};
  bool trains_before = false;  // only then a gradient flows back
  for (const cost::LayerProfile& layer : profile.layers) {
    trains_before = trains_before || layer.trainable;
    layers.boundary_bytes.push_back(layer.boundary_bytes);
    layers.gradient_bytes.push_back(trains_before ? layer.boundary_bytes : cost::LinearCost{});
  }
  return layers;
}

std::vector<StageCost> stage_costs(const PipelineLayers& layers, const partition::Cuts& cuts,
                                   const recompute::RecomputeMask& recompute) {
  return summed_stages(layers, cuts, [&](std::size_t layer) {
    return !recompute.empty() && recompute[layer] ? &layers.times[layer].recompute_s : nullptr;
  });
}

std::vector<StageCost> chosen_stage_costs(const PipelineLayers& layers, const partition::Cuts& cuts,
                                          const cost::LayerChoices& choices) {
  return summed_stages(layers, cuts, [&](std::size_t layer) -> const cost::LinearCost* {
    const std::int32_t choice = choices[layer];
    if (choice == cost::kKeepEverything) return nullptr;
    if (choice == cost::kRecomputeAll) return &layers.times[layer].recompute_s;
    const std::vector<cost::LinearCost>& named = layers.times[layer].choice_s;
    const auto k = static_cast<std::size_t>(choice - cost::kFirstNamedChoice);
    return k < named.size() ? &named[k]
                            : nullptr;  // a layer without backward has none: it pays nothing
  });
}

std::vector<StageCost> stage_costs(const cost::Profile& profile, const partition::Cuts& cuts,
                                   const recompute::RecomputeMask& recompute) {
  return stage_costs(pipeline_layers(profile), cuts, recompute);
}

std::vector<cluster::Link> boundary_links(const cluster::ClusterSpec& cluster,
                                          const cluster::ParallelSizes& sizes,
                                          std::int64_t dp_rank) {
  schedule::Schedule one_stage_a_rank;
  for (std::int64_t rank = 0; rank < sizes.pp; ++rank) {
    one_stage_a_rank.stage_rank.emplace_back(static_cast<std::int32_t>(rank));
  }
  return boundary_links(cluster, sizes, dp_rank, one_stage_a_rank);
}

std::vector<cluster::Link> boundary_links(const cluster::ClusterSpec& cluster,
                                          const cluster::ParallelSizes& sizes, std::int64_t dp_rank,
                                          const schedule::Schedule& schedule) {
  const auto node_of = [&](RankIndex rank) {
    return ((rank.value() * sizes.dp + dp_rank) * sizes.tp) / cluster.devices_per_node;
  };
  const auto link_between = [&](RankIndex from, RankIndex to) {
    if (from == to) return cluster::Link{std::numeric_limits<double>::infinity(), 0};
    cluster::Link link = node_of(from) == node_of(to) ? cluster.inner : cluster.outer;
    link.bytes_per_s *= static_cast<double>(sizes.tp);
    return link;
  };
  const std::vector<RankIndex>& ranks = schedule.stage_rank;
  std::vector<cluster::Link> links;
  for (std::size_t stage = 0; stage + 1 < ranks.size(); ++stage) {
    links.push_back(link_between(ranks[stage], ranks[stage + 1]));
  }
  for (const RankIndex from : schedule.spread_ranks) {
    const cluster::Link link = link_between(from, ranks[1]);
    if (link.bytes_per_s < links.front().bytes_per_s) links.front() = link;
  }
  return links;
}

void fill_pipeline_times(std::span<const StageCost> stages, std::span<const cluster::Link> links,
                         std::span<const cost::Load> loads, PipelineTimes& out) {
  assert(links.empty() || links.size() + 1 == stages.size());
  resize(out, stages.size(), loads.size());
  std::size_t cell = 0;
  for (const cost::Load& load : loads) {
    for (std::size_t s = 0; s < stages.size(); ++s, ++cell) {
      const StageCost& stage = stages[s];
      const cost::Load timed = in_whole_units(load, stage.unit_multiple);
      out.forward_s[cell] = stage.forward_s.at(timed);
      out.backward_s[cell] = stage.backward_s.at(timed);
      out.weight_grad_s[cell] = stage.weight_grad_s.at(timed);
      out.recompute_s[cell] = stage.recompute_s.at(timed);
      const bool sends = s < links.size();
      out.activation_s[cell] = sends ? transfer_s(links[s], stage.boundary_bytes.at(load)) : 0.0;
      out.gradient_s[cell] = sends ? transfer_s(links[s], stage.gradient_bytes.at(load)) : 0.0;
    }
  }
}

PipelineTimes pipeline_times(std::span<const StageCost> stages,
                             std::span<const cluster::Link> links,
                             std::span<const cost::Load> loads) {
  PipelineTimes times;
  fill_pipeline_times(stages, links, loads, times);
  return times;
}

}  // namespace omnibal::simulate
