// SPDX-License-Identifier: Apache-2.0
//
// StageModel: what a run of layers costs as a stage, the only question that the programs ask. One
// model chooses recomputation freely (stage_knapsack.h), one by a rule (first_layers.h).
#pragma once

#include <cstdint>
#include <vector>

#include "joint/ticks.h"
#include "omnibal/joint/joint.h"

namespace omnibal::joint {

/// Layers [begin, end) as stage `stage`.
struct StageSpan {
  std::int32_t stage = 0;
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

/// Sums over layers as differences of running totals, and what each stage adds.
class StageTables {
 public:
  StageTables(const JointProblem& problem, const TickScale& scale);

  /// Without recomputation.
  Ticks forward(const StageSpan& span) const {
    return forward_[at(span.end)] - forward_[at(span.begin)] + extra_ticks_[at(span.stage)];
  }
  Ticks backward(const StageSpan& span) const {
    return backward_[at(span.end)] - backward_[at(span.begin)];
  }
  Ticks work(const StageSpan& span) const { return forward(span) + backward(span); }
  /// Forward and backward of the layers before `layer`, of those from `layer` on.
  Ticks work_before(std::int32_t layer) const { return forward_[at(layer)] + backward_[at(layer)]; }
  Ticks forward_before(std::int32_t layer) const { return forward_[at(layer)]; }
  Ticks backward_before(std::int32_t layer) const { return backward_[at(layer)]; }
  Ticks work_from(std::int32_t layer) const {
    return work_before(num_layers_) - work_before(layer);
  }

  std::int64_t static_bytes(const StageSpan& span) const {
    return static_[at(span.end)] - static_[at(span.begin)] + extra_bytes_[at(span.stage)];
  }
  std::int64_t activation_bytes(const StageSpan& span) const {
    return activation_[at(span.end)] - activation_[at(span.begin)];
  }
  std::int64_t in_flight(const StageSpan& span) const { return in_flight_[at(span.stage)]; }
  std::int64_t limit_bytes() const { return limit_bytes_; }
  std::int32_t num_layers() const { return num_layers_; }

 private:
  static std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

  std::int32_t num_layers_ = 0;
  std::vector<Ticks> forward_, backward_;
  std::vector<std::int64_t> static_, activation_;
  std::vector<Ticks> extra_ticks_;
  std::vector<std::int64_t> extra_bytes_, in_flight_;
  std::int64_t limit_bytes_ = 0;
};

/// The least time of a quantity: lower == upper where it is known exactly; kNever: impossible.
struct Bounds {
  Ticks lower = 0;
  Ticks upper = 0;
};

/// Methods are not const: models remember what they have found. Both times never fall when a layer
/// joins the span at either end, nor does least_peak_bytes: the programs rest on it.
class StageModel {
 public:
  virtual ~StageModel() = default;

  /// Least recomputation of the span within the limit. Above `most` it need not be exact: then
  /// lower > most.
  virtual Bounds recompute(const StageSpan& span, Ticks most) = 0;
  /// Bounds of it at little cost.
  virtual Bounds rough_recompute(const StageSpan& span) = 0;
  /// Sets the span's entries of `choices` to a recomputation of recompute(span).upper, which is
  /// not kNever.
  virtual void choose(const StageSpan& span, LayerChoices& choices) = 0;
  /// Least peak that any recomputation gives the span.
  virtual std::int64_t least_peak_bytes(const StageSpan& span) const = 0;
  /// How much work a question is, in units of a few additions: programs ask fewer of dear ones.
  virtual std::int64_t effort() const { return 1; }
  /// An answer so far had lower < upper: the search for it was cut off.
  virtual bool was_cut_off() const { return false; }

  const StageTables& tables() const { return *tables_; }

  /// Forward, backward and least recomputation.
  Bounds busy(const StageSpan& span, Ticks most) {
    const Ticks work = tables_->work(span);
    if (work > most) return {work, kNever};
    return plus(work, recompute(span, most - work));
  }
  Bounds rough_busy(const StageSpan& span) {
    return plus(tables_->work(span), rough_recompute(span));
  }
  /// Whether the span takes at most `most`: by `which` bound where they differ.
  bool is_within(const StageSpan& span, Ticks most, Ticks Bounds::*which) {
    if (tables_->work(span) > most) return false;
    const Bounds rough = rough_busy(span);
    if (rough.lower > most || rough.upper <= most) return rough.upper <= most;
    return busy(span, most).*which <= most;
  }

 protected:
  explicit StageModel(const StageTables& tables) : tables_(&tables) {}

 private:
  static Bounds plus(Ticks work, const Bounds& more) {
    return {more.lower >= kNever ? kNever : work + more.lower,
            more.upper >= kNever ? kNever : work + more.upper};
  }

  const StageTables* tables_;
};

/// Peak of the span with these choices.
std::int64_t peak_bytes(const StageTables& tables, std::span<const JointLayer> layers,
                        const StageSpan& span, const LayerChoices& choices);

}  // namespace omnibal::joint
