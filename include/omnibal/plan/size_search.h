// SPDX-License-Identifier: Apache-2.0
//
// Sizes chosen: how many devices form a tensor group, a pipeline, and how many pipelines there
// are, with caps and recomputation that fit each.
//
//   OMNIBAL_ASSIGN(const SizeChoice choice, choose_sizes({columns(corpus), model, cluster, ...},
//                                                        progress));
//   choice.best().sizes.pp;
//   choice.ranked[1].reason;           // why the runner-up loses
//
// Not for the plan itself: planner.h takes the sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "omnibal/base/progress.h"
#include "omnibal/base/result.h"
#include "omnibal/cluster/cluster.h"
#include "omnibal/codec/json.h"
#include "omnibal/model/model.h"
#include "omnibal/plan/limit_search.h"
#include "omnibal/plan/planner.h"
#include "omnibal/plan/schedule_spec.h"
#include "omnibal/plan/time_shares.h"

namespace omnibal::plan {

/// 1F1B, interleaved with 2 and 4 chunks, zb-h1 and zb-v: those of `chunks`, if given. GPipe has
/// the bubble of 1F1B and holds more.
std::vector<ScheduleSpec> searched_schedules(std::optional<std::int64_t> chunks = std::nullopt);

/// What the user leaves open: sizes that are not given, and the schedule.
struct SizeQuestion {
  std::int64_t gpus = 0;
  std::optional<std::int64_t> tp = std::nullopt;
  std::optional<std::int64_t> pp = std::nullopt;
  std::optional<std::int64_t> dp = std::nullopt;
  std::vector<ScheduleSpec> schedules = {};  // empty: the request's
};

struct SizeTask {
  metrics::SampleColumns samples;
  const model::ModelSpec& model;
  const cluster::ClusterSpec& cluster;
  const PlanRequest& request;  // all but sizes; caps absent: those of request.data.limits
  SizeQuestion asked;
};

struct SizeCandidate {
  cluster::ParallelSizes sizes;
  ScheduleSpec schedule;
  CapPrediction prediction;   // with the caps that suit these sizes best, of those looked at
  std::int64_t rejected = 0;  // samples for which memory has no caps
  double gpu_days = 0;        // of an epoch of the others
  TimeShares shares;
  /// How the caps were chosen where a plan's own search chose them; absent: the best of a few.
  std::optional<LimitChoice> caps = std::nullopt;
  std::string reason = {};  // of the best: what it gains; of the others: why they lose
};

struct SizeChoice {
  std::int64_t gpus = 0;
  /// That fit: those first that leave fewest samples out, then the fastest.
  std::vector<SizeCandidate> ranked;
  std::vector<SizeCandidate> refused;  // that do not, and why
  std::string nothing_fits = {};       // why, where `ranked` is empty: of fewest_gpus alone

  const SizeCandidate& best() const { return ranked.front(); }
  /// Of an epoch with the best sizes.
  double hours() const { return best().gpu_days * 24 / static_cast<double>(gpus); }
};

/// Every tp that divides a node, every pp that divides what is left, up to a stage a layer: each
/// is predicted with a few caps on a few samples through the first schedule, those that could win
/// without idle time through the others too, then the best few with caps chosen in full.
/// Deterministic for any number of threads. Errors: kSizesDoNotDivide (no sizes multiply to gpus),
/// kMemoryInfeasible where no sizes fit: what those miss that need least; others.
Result<SizeChoice> choose_sizes(const SizeTask& task, const Progress& progress);

/// Whether any sizes multiply to gpus and can form steps of the global batch.
bool has_sizes(const SizeTask& task);

/// The fewest devices with which an epoch takes at most `hours` and no more samples are left out
/// than with `most_gpus`, of 1, 2, 3, 4, 6, 8, 12, ... nodes (with sizes given, of as many times
/// their product too) up to `most_gpus`, where has_sizes; sizes chosen for each count looked at,
/// fewest first, also of counts with which nothing fits. Error: kSizesDoNotDivide (there is no such
/// count), kMemoryInfeasible, kTooSlow (not even the largest is enough: names its hours).
Result<std::vector<SizeChoice>> fewest_gpus(const SizeTask& task, double hours,
                                            std::int64_t most_gpus, const Progress& progress);

/// `search` of a plan (docs/formats.md).
codec::Json to_json(const SizeChoice& choice);

}  // namespace omnibal::plan
