// SPDX-License-Identifier: Apache-2.0
#include "joint/rank_plan.h"

#include <algorithm>

namespace omnibal::joint {
namespace {

/// Whether a rank might be: not if it can hold all layers and all micro-batches, twice.
bool is_short_of_memory(const JointProblem& problem, const StageTables& tables) {
  if (!problem.memory_limit_bytes) return false;
  const StageSpan all{0, 0, tables.num_layers()};
  const std::int64_t layers = tables.static_bytes(all) + problem.constraints.last_stage.bytes;
  const std::int64_t left = *problem.memory_limit_bytes - layers;
  return left < 0 || left / 2 / problem.num_micro_batches < tables.activation_bytes(all);
}

}  // namespace

RankPlan::RankPlan(const JointProblem& problem, const RankLayout& layout, const StageTables& tables,
                   const TickScale& scale, RankCare care)
    : layers_(problem.layers),
      layout_(layout),
      tables_(tables),
      scale_(scale),
      steps_(layout.schedule),
      recompute_(layout, tables, problem.layers, scale, problem.constraints.recompute_everything,
                 care),
      is_limited_(is_short_of_memory(problem, tables) || problem.constraints.recompute_everything),
      last_(layout.ranks.size()),
      weight_grad_{0} {
  for (const JointLayer& layer : layers_) {
    // Rounded as its sum with the input gradient is, so that neither comes out negative.
    const Ticks input_grad = scale.ticks(layer.backward_s - layer.weight_grad_s);
    const Ticks weight_grad = scale.ticks(layer.backward_s) - input_grad;
    weight_grad_.push_back(weight_grad_.back() +
                           (layout.splits ? std::max<Ticks>(weight_grad, 0) : 0));
  }
}

void RankPlan::time_stages(const StageEnds& ends) {
  stages_.clear();
  std::int32_t stage = 0;
  std::int32_t begin = 0;
  for (const std::int32_t end : ends) {
    const StageSpan span{stage++, begin, end};
    const Ticks weight_grad =
        weight_grad_[static_cast<std::size_t>(end)] - weight_grad_[static_cast<std::size_t>(begin)];
    stages_.push_back({tables_.forward(span), tables_.backward(span) - weight_grad, weight_grad});
    begin = end;
  }
}

Ticks RankPlan::slowest_rank() const {
  std::vector<Ticks> busy(layout_.ranks.size(), 0);
  for (std::size_t s = 0; s < stages_.size(); ++s) busy[layout_.rank_of(s)] += stages_[s].busy();
  return *std::ranges::max_element(busy);
}

PlanTimes RankPlan::free_times_of(const StageEnds& ends) {
  time_stages(ends);
  return {steps_.length(stages_), slowest_rank()};
}

bool RankPlan::add_recomputation(const StageEnds& ends) {
  if (!is_limited_) return true;
  for (std::size_t rank = 0; rank < layout_.ranks.size(); ++rank) {
    const RankRecompute::Answer& answer = answer_of(rank, ends);
    if (!answer.fits) return false;
    const std::vector<StageIndex>& stages = layout_.ranks[rank].stages;
    for (std::size_t k = 0; k < stages.size(); ++k) {
      stages_[static_cast<std::size_t>(stages[k].value())].backward += answer.ticks[k];
    }
  }
  return true;
}

const RankRecompute::Answer& RankPlan::answer_of(std::size_t rank, const StageEnds& ends) {
  Last& last = last_[rank];
  bool is_same = last.answer != nullptr;
  const std::vector<StageIndex>& stages = layout_.ranks[rank].stages;
  for (std::size_t k = 0; is_same && k < stages.size(); ++k) {
    const auto s = static_cast<std::size_t>(stages[k].value());
    is_same = last.spans[k].begin == (s == 0 ? 0 : ends[s - 1]) && last.spans[k].end == ends[s];
  }
  if (is_same) return *last.answer;
  last.spans = spans_of_rank(layout_, rank, ends);
  last.answer = &recompute_.of(rank, last.spans);
  return *last.answer;
}

PlanTimes RankPlan::times_of(const StageEnds& ends) {
  time_stages(ends);
  if (!add_recomputation(ends)) return {};
  return {steps_.length(stages_), slowest_rank()};
}

Ticks RankPlan::rough_path_of(const StageEnds& ends) {
  time_stages(ends);
  return add_recomputation(ends) ? steps_.bound(stages_) : kNever;
}

void RankPlan::choose(const StageEnds& ends, LayerChoices& choices) {
  for (std::size_t rank = 0; rank < layout_.ranks.size(); ++rank) {
    recompute_.choose(rank, spans_of_rank(layout_, rank, ends), choices);
  }
}

void RankPlan::time_stages(const StageEnds& ends, const LayerChoices& choices) {
  time_stages(ends);
  for (const StageSpan& span : stage_spans(ends)) {
    stages_[static_cast<std::size_t>(span.stage)].backward +=
        recompute_of(layers_, scale_, span, choices);
  }
}

Ticks RankPlan::bottleneck_of(const StageEnds& ends, const LayerChoices& choices) {
  time_stages(ends, choices);
  return slowest_rank();
}

Ticks RankPlan::path_with(const StageEnds& ends, const LayerChoices& choices) {
  time_stages(ends, choices);
  return steps_.length(stages_);
}

std::int64_t RankPlan::peak_beside(const StageEnds& ends, std::size_t cut,
                                   const LayerChoices* choices) {
  std::int64_t largest = 0;
  for (const std::size_t rank : {layout_.rank_of(cut), layout_.rank_of(cut + 1)}) {
    const RankSpans spans = spans_of_rank(layout_, rank, ends);
    largest = std::max(largest, choices != nullptr
                                    ? peak_of_rank(layout_, rank, tables_, layers_, spans, *choices)
                                    : recompute_.least_peak_bytes(rank, spans));
  }
  return largest;
}

RankPlan::Fullest RankPlan::fullest_rank(const StageEnds& ends) const {
  Fullest fullest{0, -1};
  for (std::size_t rank = 0; rank < layout_.ranks.size(); ++rank) {
    const std::int64_t bytes =
        recompute_.least_peak_bytes(rank, spans_of_rank(layout_, rank, ends));
    if (bytes > fullest.bytes) fullest = {rank, bytes};
  }
  return fullest;
}

std::int64_t RankPlan::missing_bytes(const StageEnds& ends) const {
  std::int64_t missing = 0;
  for (std::size_t rank = 0; rank < layout_.ranks.size(); ++rank) {
    const std::int64_t bytes =
        recompute_.least_peak_bytes(rank, spans_of_rank(layout_, rank, ends));
    missing += std::max<std::int64_t>(bytes - tables_.limit_bytes(), 0);
  }
  return missing;
}

std::int64_t RankPlan::least_peak_bytes(const StageSpan& span) const {
  return recompute_.least_peak_bytes(layout_.rank_of(static_cast<std::size_t>(span.stage)), {span});
}

}  // namespace omnibal::joint
