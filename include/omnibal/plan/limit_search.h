// SPDX-License-Identifier: Apache-2.0
//
// Caps chosen from the data: those with which a step of the global batch is predicted to take
// least, within memory, and no sample lost that fits.
//
//   OMNIBAL_ASSIGN(const LimitChoice choice, choose_limits({samples, target}, progress));
//   choice.limits.vision_cap;
//   choice.best.seconds_per_sample;
//
// Not the heuristic of the paper's authors: pack/limits.h.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "omnibal/base/progress.h"
#include "omnibal/base/result.h"
#include "omnibal/cluster/cluster.h"
#include "omnibal/codec/json.h"
#include "omnibal/cost/profile.h"
#include "omnibal/pack/limits.h"
#include "omnibal/pack/method.h"
#include "omnibal/schedule/schedule.h"

namespace omnibal::plan {

/// What runs the packs: it decides how long they take and whether they fit.
struct TrainingTarget {
  std::string model_name;
  cost::Profile profile;
  cluster::ClusterSpec cluster;
  cluster::ParallelSizes sizes;
  schedule::ScheduleKind schedule = schedule::ScheduleKind::kOneFOneB;
  std::int32_t chunks = 1;           // stages that a rank runs
  std::int64_t memory_bytes = 0;     // of a device
  std::int64_t global_batch = 1024;  // samples a step, whatever the caps
  bool free_links = false;
};

/// `model` on A100-80G as in the paper's ablation: tp 2, pp 4, 128 samples a rank and step. For
/// whoever packs without saying for what. Errors: those of load_model, analytic_profile.
Result<TrainingTarget> reference_target(const std::string& model, std::int64_t dp);

/// What a user says about caps: those that are given stay as they are.
struct CapQuestion {
  std::optional<std::int64_t> vision_cap = std::nullopt;
  std::optional<std::int64_t> token_cap = std::nullopt;
  pack::LimitRules rules = {};
};

struct LimitTask {
  metrics::SampleColumns samples;
  const TrainingTarget& target;
  CapQuestion asked = {};
  pack::Method method = pack::Method::kIsf;  // of the plan; a quick packer may stand for it
  std::int64_t micro_batch = 4;  // samples that the paper's caps aim at, to compare with
  std::int64_t window = 512;     // of steps::StepOptions
  std::uint64_t seed = 0;
  int threads = 0;
};

/// What training with a pair of caps is predicted to cost.
struct CapPrediction {
  std::int64_t vision_cap = 0;
  std::int64_t token_cap = 0;
  /// Of a step with the global batch, over its samples; infinity: does not fit in memory.
  double seconds_per_sample = std::numeric_limits<double>::infinity();
  std::int64_t micro_batches = 0;  // a rank and step that come nearest to the global batch
  double samples_per_pack = 0;
  std::int64_t peak_bytes = 0;  // of the fullest rank with a full pack in every micro-batch
  std::int64_t recomputed_layers = 0;
  double recompute_share = 0;  // of the busy time, at the mean pack

  bool fits() const { return micro_batches > 0; }
};

/// A task made ready for predictions: samples drawn, sums taken. The task must outlive it.
struct LimitProblem {
  struct Samples {
    std::vector<std::uint32_t> vision, tokens;

    std::int64_t size() const { return static_cast<std::int64_t>(tokens.size()); }
    metrics::SampleColumns columns() const { return {vision, tokens}; }
  };
  const LimitTask& task;
  Samples usable;  // that the caps given and the rules admit
  /// Predictions are made of these: one at random of each of equal parts of the usable, in order.
  Samples drawn;
  Samples few;          // of the drawn, for a first look
  cost::Load mean;      // of a usable sample
  cost::Profile timed;  // with the overhead of a micro-batch
  std::vector<std::vector<cluster::Link>> links;
};

/// Error: kNothingUsable.
Result<LimitProblem> limit_problem(const LimitTask& task);

/// The one objective of the search and of whoever checks it: packs the drawn samples, forms steps,
/// cuts and recomputes as a plan does, and simulates every step. The same for any number of
/// threads. Milliseconds.
CapPrediction predict_caps(const LimitProblem& problem, std::int64_t vision_cap,
                           std::int64_t token_cap);

/// Why a cap is not other than it is.
struct CapReason {
  bool given = false;
  bool holds_largest_sample = false;             // no smaller cap would
  std::optional<CapPrediction> smaller, larger;  // the next ones looked at, if there are
};

/// What the caps were chosen for.
struct LimitContext {
  std::string model, cluster;
  cluster::ParallelSizes sizes;
  std::int64_t global_batch = 0;
  std::int64_t memory_bytes = 0;
};

struct LimitChoice {
  LimitContext context;
  pack::PackLimits limits;
  CapPrediction best;
  CapReason vision, tokens;
  std::vector<CapPrediction> runners_up;  // the best of other vision caps, best first
  std::optional<CapPrediction> paper;     // the paper's caps, where they exist and hold all samples
  std::int64_t predictions = 0;           // pairs of caps looked at
  /// Samples that fit in memory with no caps that hold the others too: rejected.
  std::int64_t too_large = 0;
};

/// Never rejects a sample that larger caps which fit would hold. Always ends: a coarse grid over
/// both caps between what the largest sample needs and what memory or a rank's share of the global
/// batch allows, its good points with more samples, then best-first around them on the fine grid.
/// Errors: kNothingUsable; kMemoryInfeasible (no caps fit), kTooManyStages.
Result<LimitChoice> choose_limits(const LimitTask& task, const Progress& progress);

/// `explanation` of `limits` (docs/formats.md).
codec::Json to_json(const LimitChoice& choice);

}  // namespace omnibal::plan
