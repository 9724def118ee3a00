// SPDX-License-Identifier: Apache-2.0
//
// Joint: cuts and recomputation of a pipeline chosen together, under a memory limit, with a
// certificate. The program and its proof: docs/methods/joint.md.
//
//   const std::vector<JointLayer> layers = joint_layers(bar_layers, costs, costs);
//   const JointProblem problem{layers, ScheduleKind::kOneFOneB, 8, 32, in_flight, limit_bytes};
//   OMNIBAL_ASSIGN(const JointAnswer answer, solve(problem, {}, makespan_of));
//   answer.best.cuts;  answer.certificate.lower_bound_s;
//
// Not for the time of a step: `Evaluator` says it (a simulation, which a lower room cannot be).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/base/strong_index.h"
#include "omnibal/cost/profile.h"
#include "omnibal/cost/recompute_choices.h"
#include "omnibal/partition/partition.h"
#include "omnibal/recompute/bar.h"
#include "omnibal/schedule/fullest.h"
#include "omnibal/schedule/schedule.h"

namespace omnibal::joint {

/// A way to keep less of a layer than its whole activation between forward and backward.
struct RecomputeChoice {
  double recompute_s = 0;       // it costs this a micro-batch
  std::int64_t kept_bytes = 0;  // instead of activation_bytes
  /// Rebuilt at once while the layer runs; absent: the layer's activation_bytes.
  std::optional<std::int64_t> transient_bytes = std::nullopt;
};

struct JointLayer {
  recompute::LayerClass layer_class = recompute::LayerClass::kLlm;
  double forward_s = 0;
  double backward_s = 0;     // input + weight gradients
  double weight_grad_s = 0;  // the part of backward_s that a split backward runs apart
  std::int64_t static_bytes = 0;
  std::int64_t activation_bytes = 0;     // of one micro-batch
  std::int64_t weight_grad_bytes = 0;    // held from a split backward to its weight gradient
  std::vector<RecomputeChoice> choices;  // besides keeping everything
};

/// Seconds of `times` and bytes of `bytes` (the same layers, perhaps at another load: a step takes
/// the mean pack's time and must fit the largest pack).
std::vector<JointLayer> joint_layers(std::span<const recompute::BarLayer> classes,
                                     std::span<const cost::LayerCost> times,
                                     std::span<const cost::LayerCost> bytes);

/// Adds what the profile names beside full recomputation, so that LayerChoices mean what cost's do:
/// a layer that has any gets full recomputation as its first choice even where that gains nothing.
void add_named_choices(std::span<const std::vector<cost::ChoiceCost>> times,
                       std::span<const std::vector<cost::ChoiceCost>> bytes,
                       std::span<const cost::LayerCost> full_times,
                       std::span<const cost::LayerCost> full_bytes,
                       std::vector<JointLayer>& layers);

/// On top while the layer runs with this choice.
inline std::int64_t transient_bytes(const JointLayer& layer, const RecomputeChoice& choice) {
  return choice.transient_bytes.value_or(layer.activation_bytes);
}

/// Of every layer: 0 keeps everything, k is its choices[k - 1].
using LayerChoices = cost::LayerChoices;
/// Which layers recompute at all.
recompute::RecomputeMask to_mask(const LayerChoices& choices);
/// Those layers take their first choice.
LayerChoices to_choices(const recompute::RecomputeMask& mask);

/// What a target cannot express.
enum class Restriction {
  kNone,
  /// Everything before the first LLM block on stage 0; one number N for all stages: the first N ViT
  /// blocks and the first N LLM blocks of every stage recompute.
  kMegatron,
  kUniform  // equal layer counts, the first stages taking the remainder
};

struct StageExtra {
  double seconds = 0;  // a micro-batch, forward and backward together
  std::int64_t bytes = 0;
};

struct Constraints {
  std::vector<std::pair<LayerIndex, LayerIndex>> keep_together;  // on one stage
  std::vector<LayerIndex> forbidden_cuts;                        // no stage begins there
  StageExtra first_stage, last_stage;                            // beside the layers
  bool recompute_everything = false;                             // wherever a layer can
  Restriction restriction = Restriction::kNone;
};

struct JointProblem {
  std::span<const JointLayer> layers;
  schedule::ScheduleKind schedule = schedule::ScheduleKind::kOneFOneB;
  std::int32_t num_stages = 1;  // of all ranks together
  std::int32_t num_micro_batches = 1;
  std::vector<std::int64_t> in_flight;                            // micro-batches kept, by stage
  std::optional<std::int64_t> memory_limit_bytes = std::nullopt;  // of a device; absent: none
  Constraints constraints = {};
  std::int32_t chunks = 1;  // stages that a rank runs, as the schedule deals them out
};

/// Whether ranks run several stages or split their backwards: every schedule but GPipe and 1F1B.
/// There is no exact program for those.
bool needs_rank_plans(const JointProblem& problem);

/// Seconds of a step. Infinity: cannot run.
using Evaluator = std::function<double(const partition::Cuts&, const LayerChoices&)>;

struct JointOptions {
  /// Cuts of other methods: the answer is never slower than any of them with its best
  /// recomputation. Those that break a constraint or do not fit are left out.
  std::vector<partition::Cuts> seeds = {};
  std::int32_t candidates = 27;  // most plans in an answer
  /// Every micro-batch costs what `layers` say, so that the path bound also bounds the evaluator:
  /// plans that it excludes are not evaluated. False: micro-batches have loads of their own.
  bool alike = true;
};

struct JointPlan {
  partition::Cuts cuts;
  LayerChoices choices;
  double bottleneck_s = 0;  // largest forward + backward + recomputation of a rank
  double makespan_s = 0;    // by the evaluator
};

/// What becomes of a plan if one cut moves by a layer and recomputation is chosen anew.
struct CutMove {
  bool allowed = false;  // no stage left empty, no constraint broken
  bool fits = false;     // into memory, with the best recomputation
  double bottleneck_s = 0;
  double makespan_s = 0;
  std::int64_t peak_bytes = 0;  // larger of both ranks; the least possible where it does not fit
};

struct CutReason {
  LayerIndex cut;
  CutMove left, right;  // the cut one layer earlier, one later
};

struct Certificate {
  double lower_bound_s = 0;  // no plan's slowest rank is faster
  double gap = 0;            // bottleneck_s of the answer / lower_bound_s - 1
  bool proven = false;       // lower_bound_s is the least bottleneck itself
  /// No plan's step is shorter, if all micro-batches are alike; 0 where nothing better than 0 is
  /// known.
  double makespan_bound_s = 0;
  std::vector<CutReason> cuts;
};

struct JointAnswer {
  JointPlan best;
  std::vector<JointPlan> alternatives;  // slower ones, best first
  Certificate certificate;
};

/// Least makespan of the K best plans by bottleneck and by the path bound, and of `seeds`, polished
/// by local moves. Never slower than the plan of least bottleneck. Ties: lower bottleneck, then
/// lower cuts.
///
/// So for GPipe and 1F1B. For other schedules (a rank runs several stages, or backwards are split)
/// the plans are all there are where they are few; else the seeds and what local moves make of them
/// by the schedule's own step time (and the seeds with the paper's recomputation); lower_bound_s is
/// then the mean or the heaviest layer, or for a stage a rank the least bottleneck without a memory
/// limit. They know no kMegatron.
///
/// Errors: kTooManyStages (of the layers, or of the places to cut that constraints leave);
/// kMemoryInfeasible (the stage or rank that lacks most, the bytes, a limit that fits: the least
/// one, unless the message says that it is that of the best cuts found); kInvalidArgument (layers
/// that do not exist, kMegatron without LLM blocks).
Result<JointAnswer> solve(const JointProblem& problem, const JointOptions& options,
                          const Evaluator& evaluate);

/// What solve says of its answer, of any plan that fits: how far its slowest rank is from the least
/// possible, and what becomes of it if a cut moves. makespan_bound_s is 0: it is not sought. Where
/// no program is exact, `proven` says that the plan itself reaches lower_bound_s. Not with
/// kMegatron.
/// Errors: those of solve; kOutOfRange (cuts that are not num_stages stages of the layers).
Result<Certificate> certify(const JointProblem& problem, const partition::Cuts& cuts,
                            const LayerChoices& choices, const Evaluator& evaluate);

/// What a rank needs in memory with this plan: at each of its fullest moments its static bytes,
/// what its micro-batches hold, and the largest activation among the recomputed layers of the stage
/// that runs. O(layers of the rank + moments).
std::int64_t peak_bytes_of_rank(const schedule::RankMoments& rank,
                                std::span<const JointLayer> layers, const partition::Cuts& cuts,
                                const LayerChoices& choices);

/// Recomputation of least time for given cuts. Errors: kOutOfRange (cuts), kMemoryInfeasible.
Result<LayerChoices> choose_recomputation(const JointProblem& problem, const partition::Cuts& cuts);

/// The least memory limit under which any cuts fit. Errors: those of solve but kMemoryInfeasible.
Result<std::int64_t> least_memory_limit(const JointProblem& problem);

}  // namespace omnibal::joint
