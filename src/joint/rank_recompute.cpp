// SPDX-License-Identifier: Apache-2.0
#include "joint/rank_recompute.h"

#include <algorithm>
#include <numeric>

#include "joint/plan_model.h"

namespace omnibal::joint {
namespace {

using schedule::FullMoment;

std::vector<std::int32_t> key_of(std::size_t rank, const RankSpans& spans) {
  std::vector<std::int32_t> key{static_cast<std::int32_t>(rank)};
  for (const StageSpan& span : spans) {
    key.push_back(span.begin);
    key.push_back(span.end);
  }
  return key;
}

}  // namespace

Ticks RankRecompute::Answer::cost() const {
  return std::accumulate(ticks.begin(), ticks.end(), Ticks{0});
}

RankRecompute::RankRecompute(const RankLayout& layout, const StageTables& tables,
                             std::span<const JointLayer> layers, const TickScale& scale,
                             bool everything, RankCare care)
    : layout_(layout),
      tables_(tables),
      layers_(layers),
      scale_(scale),
      everything_(everything),
      care_(care),
      exact_(layers, scale, 0),
      near_(near_kinds(layers, scale)),
      weight_grad_{0} {
  for (const JointLayer& layer : layers) {
    weight_grad_.push_back(weight_grad_.back() + layer.weight_grad_bytes);
  }
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

std::int64_t RankRecompute::effort() const {
  const std::size_t kinds = care_ == RankCare::kByKinds ? near_.size() : exact_.size();
  return 1 + static_cast<std::int64_t>(kinds) / 4;
}

RankBytes RankRecompute::bytes_of(std::size_t rank, const RankSpans& spans) const {
  std::int64_t fixed = 0;
  for (const StageSpan& span : spans) fixed += tables_.static_bytes(span);
  RankBytes bytes{layout_.ranks[rank], {}};
  bytes.at_moments.reserve(bytes.rank.moments.size());
  for (const FullMoment& moment : bytes.rank.moments) {
    std::int64_t held = fixed;
    for (std::size_t k = 0; k < spans.size(); ++k) {
      held +=
          moment.held[k].for_backward * tables_.activation_bytes(spans[k]) +
          moment.held[k].for_weight_grad * (weight_grad_[static_cast<std::size_t>(spans[k].end)] -
                                            weight_grad_[static_cast<std::size_t>(spans[k].begin)]);
    }
    bytes.at_moments.push_back(held);
  }
  return bytes;
}

RankRecompute::Answer RankRecompute::search(std::size_t rank, const RankSpans& spans,
                                            const RankBytes& bytes) {
  if (!has_near_kinds()) return cover(exact_, rank, spans, bytes, kNever, false);
  const RankCaps caps = largest_caps(bytes, exact_, spans, tables_.limit_bytes());
  if (caps.peak > tables_.limit_bytes()) return {false, {}, {}};
  const bool was_cut_off = was_cut_off_;
  const Answer by_kinds = cover(near_, rank, spans, bytes, kNever, false);
  was_cut_off_ = was_cut_off || care_ == RankCare::kByKinds;
  if (by_kinds.fits && care_ == RankCare::kByKinds) return by_kinds;
  RankSwaps swaps(bytes, tables_.limit_bytes(), layers_, scale_, spans);
  const auto answer = [&] { return Answer{true, swaps.cost_of_stages(), swaps.choices()}; };
  swaps.start_within(caps);
  swaps.drop();
  if (care_ == RankCare::kByKinds) return answer();
  swaps.swap();
  Answer best = answer();
  if (by_kinds.fits) {
    swaps.start_with(by_kinds.layers);
    swaps.swap();
    if (swaps.cost() < best.cost()) best = answer();
  }
  Answer exactly = cover(exact_, rank, spans, bytes, best.cost(), true);
  if (exactly.fits) best = std::move(exactly);
  return best;
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
  const RankBytes bytes = bytes_of(rank, spans);
  if (*std::ranges::max_element(bytes.at_moments) <= tables_.limit_bytes()) {
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
  for (const auto& [layer, choice] : of(rank, spans).layers) {
    choices[static_cast<std::size_t>(layer)] = choice;
  }
}

std::int64_t RankRecompute::least_peak_bytes(std::size_t rank, const RankSpans& spans) const {
  if (everything_) {
    LayerChoices choices(layers_.size(), 0);
    choose_everything(spans, choices);
    return peak_of_rank(layout_, rank, tables_, layers_, spans, choices);
  }
  constexpr std::int64_t kNoneIsEnough = -1;
  return largest_caps(bytes_of(rank, spans), exact_, spans, kNoneIsEnough).peak;
}

}  // namespace omnibal::joint
