// SPDX-License-Identifier: Apache-2.0
#include "joint/rank_layout.h"

#include <algorithm>

namespace omnibal::joint {
namespace {

/// Bytes of a stage for a micro-batch.
struct StageBytes {
  std::int64_t kept = 0;
  std::int64_t for_weight_grad = 0;
  std::int64_t transient = 0;
};

StageBytes bytes_of(std::span<const JointLayer> layers, const StageSpan& span,
                    const LayerChoices& choices) {
  StageBytes bytes;
  for (auto i = static_cast<std::size_t>(span.begin); i < static_cast<std::size_t>(span.end); ++i) {
    const JointLayer& layer = layers[i];
    bytes.for_weight_grad += layer.weight_grad_bytes;
    if (choices[i] == 0) {
      bytes.kept += layer.activation_bytes;
    } else {
      const RecomputeChoice& choice = layer.choices[static_cast<std::size_t>(choices[i]) - 1];
      bytes.kept += choice.kept_bytes;
      bytes.transient = std::max(bytes.transient, transient_bytes(layer, choice));
    }
  }
  return bytes;
}

/// Beside the static bytes.
std::int64_t most_held(const schedule::RankMoments& rank, std::span<const JointLayer> layers,
                       const RankSpans& spans, const LayerChoices& choices) {
  std::vector<StageBytes> stages;
  for (const StageSpan& span : spans) stages.push_back(bytes_of(layers, span, choices));
  std::int64_t most = 0;
  for (const schedule::FullMoment& moment : rank.moments) {
    std::int64_t held = 0;
    for (std::size_t k = 0; k < stages.size(); ++k) {
      held += moment.held[k].for_backward * stages[k].kept +
              moment.held[k].for_weight_grad * stages[k].for_weight_grad;
    }
    if (moment.running != schedule::kNothingRuns) {
      held += stages[static_cast<std::size_t>(moment.running)].transient;
    }
    most = std::max(most, held);
  }
  return most;
}

}  // namespace

Result<RankLayout> rank_layout(const JointProblem& problem) {
  RankLayout layout;
  OMNIBAL_ASSIGN(layout.schedule,
                 schedule::make_schedule(problem.schedule, problem.num_stages,
                                         problem.num_micro_batches, {.chunks = problem.chunks}));
  layout.splits = has_weight_grads(layout.schedule);
  layout.ranks = schedule::fullest_moments(layout.schedule);
  return layout;
}

RankSpans spans_of_rank(const RankLayout& layout, std::size_t rank, const StageEnds& ends) {
  RankSpans spans;
  for (const StageIndex stage : layout.ranks[rank].stages) {
    const auto s = static_cast<std::size_t>(stage.value());
    spans.push_back({stage.value(), s == 0 ? 0 : ends[s - 1], ends[s]});
  }
  return spans;
}

std::int64_t peak_of_rank(const RankLayout& layout, std::size_t rank, const StageTables& tables,
                          std::span<const JointLayer> layers, const RankSpans& spans,
                          const LayerChoices& choices) {
  std::int64_t fixed = 0;
  for (const StageSpan& span : spans) fixed += tables.static_bytes(span);
  return fixed + most_held(layout.ranks[rank], layers, spans, choices);
}

std::int64_t peak_bytes_of_rank(const schedule::RankMoments& rank,
                                std::span<const JointLayer> layers, const partition::Cuts& cuts,
                                const LayerChoices& choices) {
  const std::vector<StageSpan> all =
      stage_spans(to_ends(cuts, static_cast<std::int32_t>(layers.size())));
  RankSpans spans;
  std::int64_t fixed = 0;
  for (const StageIndex stage : rank.stages) {
    const StageSpan& span = spans.emplace_back(all[static_cast<std::size_t>(stage.value())]);
    for (std::int32_t i = span.begin; i < span.end; ++i) {
      fixed += layers[static_cast<std::size_t>(i)].static_bytes;
    }
  }
  return fixed + most_held(rank, layers, spans, choices);
}

}  // namespace omnibal::joint
