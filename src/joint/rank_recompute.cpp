// SPDX-License-Identifier: Apache-2.0
#include "joint/rank_recompute.h"

#include "joint/plan_model.h"

#include <algorithm>
#include <limits>

namespace omnibal::joint {
namespace {

using schedule::FullMoment;
using schedule::kNothingRuns;

std::vector<std::int32_t> key_of(std::size_t rank, const RankSpans& spans) {
  std::vector<std::int32_t> key{static_cast<std::int32_t>(rank)};
  for (const StageSpan& span : spans) {
    key.push_back(span.begin);
    key.push_back(span.end);
  }
  return key;
}

/// Ascending, each once.
void sort_out(std::vector<std::int64_t>& values) {
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
}

}  // namespace

RankRecompute::RankRecompute(const RankLayout& layout, const StageTables& tables,
                             std::span<const JointLayer> layers, const TickScale& scale,
                             bool everything)
    : layout_(layout),
      tables_(tables),
      layers_(layers),
      scale_(scale),
      everything_(everything),
      weight_grad_{0} {
  for (const JointLayer& layer : layers) {
    weight_grad_.push_back(weight_grad_.back() + layer.weight_grad_bytes);
  }
  gather_kinds();
  for (const schedule::RankMoments& rank : layout.ranks) {
    std::vector<std::int32_t>& weights = weights_.emplace_back();
    std::vector<std::int32_t>& most = most_held_.emplace_back(rank.stages.size(), 0);
    for (const FullMoment& moment : rank.moments) {
      for (std::size_t k = 0; k < rank.stages.size(); ++k) {
        weights.push_back(moment.held[k].for_backward);
        most[k] = std::max(most[k], moment.held[k].for_backward);
      }
    }
  }
}

std::vector<std::int64_t> RankRecompute::bytes_at_moments(std::size_t rank,
                                                          const RankSpans& spans) const {
  std::int64_t fixed = 0;
  for (const StageSpan& span : spans) fixed += tables_.static_bytes(span);
  std::vector<std::int64_t> bytes;
  bytes.reserve(layout_.ranks[rank].moments.size());
  for (const FullMoment& moment : layout_.ranks[rank].moments) {
    std::int64_t held = fixed;
    for (std::size_t k = 0; k < spans.size(); ++k) {
      held +=
          moment.held[k].for_backward * tables_.activation_bytes(spans[k]) +
          moment.held[k].for_weight_grad * (weight_grad_[static_cast<std::size_t>(spans[k].end)] -
                                            weight_grad_[static_cast<std::size_t>(spans[k].begin)]);
    }
    bytes.push_back(held);
  }
  return bytes;
}

RankRecompute::Combinations RankRecompute::transients_of(const RankSpans& spans) const {
  std::vector<std::vector<std::int64_t>> of_stage;
  std::vector<std::int64_t> all;
  std::size_t count_all = 1;
  for (const StageSpan& span : spans) {
    std::vector<std::int64_t>& values = of_stage.emplace_back(1, 0);
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      if (count(k, span) == 0) continue;
      for (const Option& option : kinds_[k].options) values.push_back(option.transient);
    }
    sort_out(values);
    all.insert(all.end(), values.begin(), values.end());
    count_all = std::min(count_all * values.size(), kMostTransients + 1);
  }
  Combinations combinations;
  if (count_all > kMostTransients) {
    sort_out(all);
    combinations.complete = false;
    for (std::size_t c = 0; c < kCommonTransients; ++c) {
      combinations.transients.emplace_back(spans.size(),
                                           all[c * (all.size() - 1) / (kCommonTransients - 1)]);
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

std::vector<RankCoverItem> RankRecompute::items_of(std::size_t rank, const RankSpans& spans,
                                                   const Transients& transients) const {
  struct Group {
    double rate = 0;  // cost of a byte where most micro-batches are held
    std::vector<RankCoverItem> items;
  };
  std::vector<Group> groups;
  for (std::size_t s = 0; s < spans.size(); ++s) {
    if (most_held_[rank][s] == 0) continue;
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      const std::int32_t layers = count(k, spans[s]);
      if (layers == 0) continue;
      Group& group = groups.emplace_back();
      group.rate = std::numeric_limits<double>::infinity();
      for (const Option& option : useful_options(kinds_[k], transients[s])) {
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

RankRecompute::Answer RankRecompute::search(std::size_t rank, const RankSpans& spans,
                                            const std::vector<std::int64_t>& bytes) {
  Answer answer;
  answer.fits = false;
  Ticks best = kNever;
  const Combinations combinations = transients_of(spans);
  was_cut_off_ = was_cut_off_ || !combinations.complete;
  for (const Transients& transients : combinations.transients) {
    const std::vector<RankCoverItem> items = items_of(rank, spans, transients);
    std::vector<std::int64_t> needs = bytes;
    for (std::size_t q = 0; q < needs.size(); ++q) {
      const std::int32_t running = layout_.ranks[rank].moments[q].running;
      needs[q] -= tables_.limit_bytes();
      if (running != kNothingRuns) needs[q] += transients[static_cast<std::size_t>(running)];
    }
    RankCover cover(items, weights_[rank], spans.size());
    const std::int64_t most = std::min(nodes_left_, kMostNodesOfARank);
    const Ticks cost = cover.least_cost(needs, best, std::max(most, kFewRankNodes));
    nodes_left_ -= cover.nodes();
    was_cut_off_ = was_cut_off_ || cover.was_cut_off();
    if (cost >= kNever) continue;
    best = cost;
    answer = {true, std::vector<Ticks>(spans.size(), 0), {}};
    for (const RankCover::Taken& taken : cover.taken()) {
      const RankCoverItem& item = items[taken.item];
      const auto stage = static_cast<std::size_t>(item.stage);
      answer.ticks[stage] += taken.count * item.cost;
      answer.layers.push_back(
          {stage, static_cast<std::size_t>(item.kind), item.choice, taken.count});
    }
  }
  return answer;
}

void RankRecompute::choose_everything(const RankSpans& spans, LayerChoices& choices) const {
  for (const StageSpan& span : spans) {
    for (auto i = static_cast<std::size_t>(span.begin); i < static_cast<std::size_t>(span.end);
         ++i) {
      const std::vector<RecomputeChoice>& all = layers_[i].choices;
      const auto least = std::ranges::min_element(all, {}, &RecomputeChoice::kept_bytes);
      choices[i] = all.empty() ? 0 : static_cast<std::int32_t>(least - all.begin()) + 1;
    }
  }
}

RankRecompute::Answer RankRecompute::everything_of(std::size_t rank, const RankSpans& spans) const {
  LayerChoices choices(layers_.size(), 0);
  choose_everything(spans, choices);
  Answer answer;
  answer.fits =
      peak_of_rank(layout_, rank, tables_, layers_, spans, choices) <= tables_.limit_bytes();
  for (const StageSpan& span : spans) {
    answer.ticks.push_back(recompute_of(layers_, scale_, span, choices));
  }
  return answer;
}

const RankRecompute::Answer& RankRecompute::of(std::size_t rank, const RankSpans& spans) {
  const auto [place, is_new] = known_.try_emplace(key_of(rank, spans));
  Answer& answer = place->second;
  if (!is_new) return answer;
  if (everything_) return answer = everything_of(rank, spans);
  const std::vector<std::int64_t> bytes = bytes_at_moments(rank, spans);
  if (*std::ranges::max_element(bytes) <= tables_.limit_bytes()) {
    answer.ticks.assign(spans.size(), 0);
    return answer;
  }
  return answer = search(rank, spans, bytes);
}

void RankRecompute::choose(std::size_t rank, const RankSpans& spans, LayerChoices& choices) {
  if (everything_) return choose_everything(spans, choices);
  for (const StageSpan& span : spans) {
    for (std::int32_t i = span.begin; i < span.end; ++i) choices[static_cast<std::size_t>(i)] = 0;
  }
  for (const Answer::Layers& some : of(rank, spans).layers) {
    const std::vector<std::int32_t>& layers = kinds_[some.kind].layers;
    std::int32_t left = some.count;
    for (auto layer = std::ranges::lower_bound(layers, spans[some.stage].begin); left > 0;
         ++layer) {
      if (choices[static_cast<std::size_t>(*layer)] != 0) continue;
      choices[static_cast<std::size_t>(*layer)] = some.choice;
      --left;
    }
  }
}

std::int64_t RankRecompute::least_peak_bytes(std::size_t rank, const RankSpans& spans) const {
  if (everything_) {
    LayerChoices choices(layers_.size(), 0);
    choose_everything(spans, choices);
    return peak_of_rank(layout_, rank, tables_, layers_, spans, choices);
  }
  const std::vector<std::int64_t> bytes = bytes_at_moments(rank, spans);
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Transients& transients : transients_of(spans).transients) {
    std::vector<std::int64_t> saving(spans.size(), 0);
    for (std::size_t s = 0; s < spans.size(); ++s) {
      for (std::size_t k = 0; k < kinds_.size(); ++k) {
        const auto most = std::ranges::find_if(kinds_[k].options, [&](const Option& option) {
          return option.transient <= transients[s];
        });
        if (most != kinds_[k].options.end()) saving[s] += count(k, spans[s]) * most->saving;
      }
    }
    std::int64_t most = 0;
    for (std::size_t q = 0; q < bytes.size(); ++q) {
      const FullMoment& moment = layout_.ranks[rank].moments[q];
      std::int64_t held = bytes[q];
      for (std::size_t s = 0; s < spans.size(); ++s) {
        held -= moment.held[s].for_backward * saving[s];
      }
      if (moment.running != kNothingRuns) {
        held += transients[static_cast<std::size_t>(moment.running)];
      }
      most = std::max(most, held);
    }
    least = std::min(least, most);
  }
  return least;
}

}  // namespace omnibal::joint
