// SPDX-License-Identifier: Apache-2.0
//
// RankRecompute's covers: the least recomputation of a rank over kinds of layers.
#include <algorithm>
#include <limits>

#include "joint/rank_recompute.h"

namespace omnibal::joint {
namespace {

using schedule::kNothingRuns;

/// Ascending, each once.
void sort_out(std::vector<std::int64_t>& values) {
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
}

/// All that layers of a stage may rebuild at once within its cap, and 0.
std::vector<std::vector<std::int64_t>> transients_of_stages(const RankKinds& kinds,
                                                            const RankSpans& spans,
                                                            const std::vector<std::int64_t>& caps) {
  std::vector<std::vector<std::int64_t>> of_stage;
  for (std::size_t s = 0; s < spans.size(); ++s) {
    std::vector<std::int64_t>& values = of_stage.emplace_back(1, 0);
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      if (kinds.count(k, spans[s]) == 0) continue;
      for (const RankOption& option : kinds[k].options) {
        if (option.transient <= caps[s]) values.push_back(option.transient);
      }
    }
    sort_out(values);
  }
  return of_stage;
}

}  // namespace

RankRecompute::Combinations RankRecompute::transients_of(const RankKinds& kinds,
                                                         const RankSpans& spans,
                                                         const Transients& caps) {
  const std::vector<std::vector<std::int64_t>> of_stage = transients_of_stages(kinds, spans, caps);
  std::vector<std::int64_t> all;
  std::size_t count_all = 1;
  for (const std::vector<std::int64_t>& values : of_stage) {
    all.insert(all.end(), values.begin(), values.end());
    count_all = std::min(count_all * values.size(), kMostTransients + 1);
  }
  Combinations combinations;
  if (count_all > kMostTransients) {
    sort_out(all);
    combinations.complete = false;
    for (std::size_t c = 0; c < kCommonTransients; ++c) {
      Transients& common = combinations.transients.emplace_back(caps);
      for (std::int64_t& cap : common) {
        cap = std::min(cap, all[c * (all.size() - 1) / (kCommonTransients - 1)]);
      }
    }
    return combinations;
  }
  combinations.transients.emplace_back();
  for (const std::vector<std::int64_t>& values : of_stage) {
    std::vector<Transients> longer;
    for (const Transients& some : combinations.transients) {
      for (const std::int64_t value : values) {
        longer.push_back(some);
        longer.back().push_back(value);
      }
    }
    combinations.transients = std::move(longer);
  }
  return combinations;
}

std::vector<RankCoverItem> RankRecompute::items_of(const RankKinds& kinds, std::size_t rank,
                                                   const RankSpans& spans,
                                                   const Transients& transients) const {
  struct Group {
    double rate = 0;  // cost of a byte where most micro-batches are held
    std::vector<RankCoverItem> items;
  };
  std::vector<Group> groups;
  for (std::size_t s = 0; s < spans.size(); ++s) {
    if (most_held_[rank][s] == 0) continue;
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const std::int32_t layers = kinds.count(k, spans[s]);
      if (layers == 0) continue;
      Group& group = groups.emplace_back();
      group.rate = std::numeric_limits<double>::infinity();
      for (const RankOption& option : useful_options(kinds[k], transients[s])) {
        group.items.push_back({static_cast<std::int32_t>(s), static_cast<std::int32_t>(k),
                               option.choice, layers, option.saving, option.cost});
        const double saving =
            static_cast<double>(option.saving) * static_cast<double>(most_held_[rank][s]);
        group.rate = std::min(group.rate, static_cast<double>(option.cost) / saving);
      }
    }
  }
  std::ranges::stable_sort(groups, {}, &Group::rate);
  std::vector<RankCoverItem> items;
  for (const Group& group : groups) {
    items.insert(items.end(), group.items.begin(), group.items.end());
  }
  return items;
}

/// Of a kind those layers take a choice that cost least with it.
RankRecompute::Answer RankRecompute::to_answer(const RankKinds& kinds,
                                               const std::vector<RankCoverItem>& items,
                                               const std::vector<RankCover::Taken>& taken,
                                               const RankSpans& spans) const {
  Answer answer{true, std::vector<Ticks>(spans.size(), 0), {}};
  LayerChoices choices(layers_.size(), 0);
  for (const RankCover::Taken& some : taken) {
    const RankCoverItem& item = items[some.item];
    const auto stage = static_cast<std::size_t>(item.stage);
    const auto cost = [&](std::int32_t layer) {
      const auto choice = static_cast<std::size_t>(item.choice) - 1;
      return scale_.ticks(layers_[static_cast<std::size_t>(layer)].choices[choice].recompute_s);
    };
    std::vector<std::int32_t> free;
    for (const std::int32_t layer : kinds[static_cast<std::size_t>(item.kind)].layers) {
      const bool is_here = layer >= spans[stage].begin && layer < spans[stage].end;
      if (is_here && choices[static_cast<std::size_t>(layer)] == 0) free.push_back(layer);
    }
    std::ranges::stable_sort(free, {}, cost);
    free.resize(static_cast<std::size_t>(some.count));
    for (const std::int32_t layer : free) {
      choices[static_cast<std::size_t>(layer)] = item.choice;
      answer.ticks[stage] += cost(layer);
      answer.layers.emplace_back(layer, item.choice);
    }
  }
  return answer;
}

RankRecompute::Answer RankRecompute::cover(const RankKinds& kinds, std::size_t rank,
                                           const RankSpans& spans, const RankBytes& bytes,
                                           Ticks below, bool only_all) {
  Answer answer;
  answer.fits = false;
  const RankCaps caps = largest_caps(bytes, kinds, spans, tables_.limit_bytes());
  if (caps.peak > tables_.limit_bytes()) return answer;
  const Combinations combinations = transients_of(kinds, spans, caps.transients);
  was_cut_off_ = was_cut_off_ || !combinations.complete;
  if (only_all && !combinations.complete) return answer;
  for (const Transients& transients : combinations.transients) {
    const std::vector<RankCoverItem> items = items_of(kinds, rank, spans, transients);
    std::vector<std::int64_t> needs = bytes.at_moments;
    for (std::size_t q = 0; q < needs.size(); ++q) {
      const std::int32_t running = bytes.rank.moments[q].running;
      needs[q] -= tables_.limit_bytes();
      if (running != kNothingRuns) needs[q] += transients[static_cast<std::size_t>(running)];
    }
    RankCover cover(items, weights_[rank], spans.size());
    const std::int64_t most = std::min(nodes_left_, kMostNodesOfARank);
    const Ticks cost = cover.least_cost(needs, below, std::max(most, kFewRankNodes));
    nodes_left_ -= cover.nodes();
    was_cut_off_ = was_cut_off_ || cover.was_cut_off();
    if (cost >= kNever) continue;
    below = cost;
    answer = to_answer(kinds, items, cover.taken(), spans);
  }
  return answer;
}

}  // namespace omnibal::joint
