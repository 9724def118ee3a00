// SPDX-License-Identifier: Apache-2.0
//
// The planner: from a corpus, a model and a cluster to packs, steps, stages, recomputation, a
// prediction, and the ablation that explains it.
//
//   OMNIBAL_ASSIGN(const Plan plan, make_plan(corpus, model, cluster, request, progress));
//   plan.prediction.gpu_days;
//   plan.ablation[0];            // "baseline"
//
// Not for writing it: plan_directory.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "omnibal/base/progress.h"
#include "omnibal/base/result.h"
#include "omnibal/cluster/cluster.h"
#include "omnibal/codec/json.h"
#include "omnibal/corpus/corpus.h"
#include "omnibal/cost/analytic.h"
#include "omnibal/cost/profile.h"
#include "omnibal/cost/recompute_choices.h"
#include "omnibal/metrics/stages.h"
#include "omnibal/model/model.h"
#include "omnibal/partition/partition.h"
#include "omnibal/plan/data_plan.h"
#include "omnibal/plan/layout.h"
#include "omnibal/plan/limit_search.h"
#include "omnibal/plan/plan_certificate.h"
#include "omnibal/plan/sensitivity.h"
#include "omnibal/plan/zero3_prediction.h"
#include "omnibal/recompute/bar.h"
#include "omnibal/schedule/schedule.h"
#include "omnibal/simulate/step_end.h"

namespace omnibal::plan {

struct PlanRequest {
  cluster::ParallelSizes sizes;
  std::int64_t global_batch = 1024;  // samples a step
  std::int64_t micro_batch = 4;      // samples that a pack stands for
  schedule::ScheduleKind schedule = schedule::ScheduleKind::kOneFOneB;
  std::int32_t chunks = 1;                   // stages that a rank runs, as the schedule takes them
  std::optional<std::int64_t> memory_bytes;  // of a device; absent: the cluster's, less its reserve
  std::optional<cost::Profile> profile;      // absent: analytic
  cost::HeadPolicy heads = cost::HeadPolicy::kReplicate;
  bool free_links = false;            // the prediction without communication
  std::optional<double> zero3_flops;  // predict the same corpus on ZeRO-3 too, at this rate
  std::vector<Layout> layouts;        // to predict beside the plan's own; not with a profile
  /// Of the choices that the profile names, those that layers may take.
  cost::ChoiceSet choices = cost::ChoiceSet::kFull;
  DataPlanOptions data;  // `steps` is filled in by make_plan
  /// Absent: caps as data.limits has them, and micro-batches of `micro_batch` samples. Else the
  /// caps not given are chosen, and as many micro-batches as come nearest to the global batch.
  std::optional<CapQuestion> caps;
  std::optional<LimitChoice> chosen_caps;  // the answer, where it is known already (size_search.h)
  int threads = 0;
};

struct Prediction {
  double step_s = 0;            // mean over the epoch
  double gpu_days = 0;          // of one epoch
  double hours = 0;             // of one epoch
  std::int64_t peak_bytes = 0;  // of the fullest rank, at the caps
  /// The same at the element-wise largest load of the plan's packs.
  std::int64_t peak_bytes_worst_pack = 0;
  double samples_per_s = 0;
  double tokens_per_s_per_gpu = 0;
  double mfu = 0;  // model FLOPs over peak FLOPs
};

struct AblationRow {
  std::string name;
  double step_s = 0;
  double gpu_days = 0;
  double speedup = 0;  // against the first row
  std::vector<std::int32_t> cuts = {};
  std::int64_t peak_bytes = 0;  // of the fullest rank, its largest load in every micro-batch
};

struct Plan {
  std::string model_name;
  cluster::ClusterSpec cluster;
  DataPlan data;
  DataPlanOptions data_options;  // as used: sizes and seed filled in
  cluster::ParallelSizes sizes;
  std::int64_t micro_batches = 0;
  schedule::ScheduleKind schedule = schedule::ScheduleKind::kOneFOneB;
  std::int32_t chunks = 1;
  cost::Profile profile;
  partition::Cuts cuts;
  recompute::RecomputeMask recompute;         // layers that spare memory at all
  cost::LayerChoices choices;                 // how
  std::vector<metrics::StageSummary> stages;  // at the caps
  std::vector<metrics::RankSummary> ranks;    // that run them
  std::int64_t memory_bytes = 0;
  bool free_links = false;
  /// How a step of the prediction ends; kNone with free links, and where the cluster's memory rate
  /// is not known.
  simulate::Reduction update = simulate::Reduction::kNone;
  Prediction prediction;
  double bound_gpu_days = 0;  // all work at the achieved rate, nobody idle
  std::vector<AblationRow> ablation;
  PlanCertificate certificate;
  std::vector<SensitivityCase> sensitivity;
  std::optional<Zero3Prediction> zero3;
  std::optional<LayoutComparison> layouts;
};

/// micro-batches a rank and step: global_batch / (dp x micro_batch). Error: kSizesDoNotDivide with
/// the nearest global batch that divides.
Result<std::int64_t> micro_batches_of(const PlanRequest& request);

/// Errors: kSizesDoNotDivide, kNothingUsable, kTooManyStages, kMemoryInfeasible, those of
/// choose_limits.
/// O(samples x rounds + simulated actions).
Result<Plan> make_plan(const corpus::Corpus& corpus, const model::ModelSpec& model,
                       const cluster::ClusterSpec& cluster, const PlanRequest& request,
                       const Progress& progress);

/// The keys of `plan` (docs/formats.md), those of `pack` included.
codec::Json to_json(const Plan& plan, const corpus::Corpus& corpus);

}  // namespace omnibal::plan
