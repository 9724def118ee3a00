// SPDX-License-Identifier: Apache-2.0
//
// Model and memory balance of one profile at its reference load: cuts by any method, recomputation
// for them, judged by simulation. What `omnibal partition` answers.
//
//   OMNIBAL_ASSIGN(const ModelBalance balance, balance_model(profile, {.num_stages = 8}));
//   balance.best.cuts;
//   balance.best.makespan_s;
//
// Not for a whole epoch with its own load in every micro-batch: planner.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/cluster/cluster.h"
#include "omnibal/codec/json.h"
#include "omnibal/cost/profile.h"
#include "omnibal/cost/recompute_choices.h"
#include "omnibal/joint/joint.h"
#include "omnibal/metrics/stages.h"
#include "omnibal/partition/partition.h"
#include "omnibal/recompute/bar.h"
#include "omnibal/schedule/schedule.h"

namespace omnibal::plan {

enum class PartitionMethod {
  kJoint,  // cuts and recomputation together
  kBmp,
  kMinMax,         // of forward time
  kLeastVariance,  // of forward time
  kAnchor,         // on forward time
  kEvenLayers,
  kEvenParameters,  // exact min-max of parameters
  kVisionFirst
};
std::vector<std::string> partition_methods();  // "joint", "bmp", ...
/// Error: kInvalidArgument, naming the methods there are.
Result<PartitionMethod> parse_partition_method(std::string_view text);

enum class RecomputeMethod {
  kJoint,  // least time that fits, exactly
  kNone,
  kFull,
  kBar  // the paper's
};
std::vector<std::string> recompute_methods();  // "joint", "none", "full", "bar"
Result<RecomputeMethod> parse_recompute_method(std::string_view text);

std::vector<std::string> restrictions();  // "megatron", "uniform"
Result<joint::Restriction> parse_restriction(std::string_view text);
/// A layer by its name or its index. Error: kInvalidArgument, naming the nearest.
Result<LayerIndex> find_layer(const cost::Profile& profile, std::string_view text);

struct ModelBalanceRequest {
  std::int32_t num_stages = 1;  // of all ranks together
  std::int32_t num_micro_batches = 1;
  schedule::ScheduleKind schedule = schedule::ScheduleKind::kOneFOneB;
  std::int32_t chunks = 1;  // stages that a rank runs
  PartitionMethod method = PartitionMethod::kBmp;
  RecomputeMethod recompute = RecomputeMethod::kNone;
  std::optional<std::int64_t> memory_bytes = std::nullopt;  // absent: no limit
  std::vector<cluster::Link> links = {};  // one a boundary; empty: links cost nothing
  partition::BmpOptions bmp = {};         // of joint too: its neighbours are seeds
  joint::Constraints constraints = {};    // of joint
  /// Of the choices that the profile names, those that recomputation kJoint may take.
  cost::ChoiceSet choices = cost::ChoiceSet::kFull;
  std::int64_t host_share_bytes = 0;  // of the host's memory, for a device; 0: not known
};

struct JudgedPartition {
  partition::Cuts cuts;
  recompute::RecomputeMask recompute;  // layers that spare memory at all
  double makespan_s = 0;
  cost::LayerChoices choices = {};            // how
  std::vector<cost::NamedChoice> named = {};  // those that do not recompute all of themselves
};

struct ModelBalance {
  JudgedPartition best;
  std::vector<JudgedPartition> alternatives;  // other simulated candidates, best first
  std::vector<metrics::StageSummary> stages;  // of the best
  std::vector<metrics::RankSummary> ranks;    // that run them
  metrics::PartitionMetrics metrics;
  std::optional<joint::Certificate> certificate;  // of joint
  std::optional<double> cost_of_restriction;      // step time over the unrestricted one's - 1
};

/// Methods other than joint know no constraints. BMP's candidates are judged with the recomputation
/// that they get; those that do not fit the memory limit are left out. Errors: kTooManyStages;
/// kMemoryInfeasible (nothing fits: stage and missing bytes of the best candidate; or the best
/// offloads more than the hosts hold); kMissingKey
/// (even-parameters without parameters); kInvalidArgument (named choices without recomputation
/// kJoint or under kMegatron); those of the methods.
Result<ModelBalance> balance_model(const cost::Profile& profile,
                                   const ModelBalanceRequest& request);

/// The keys of `partition` (docs/formats.md) except method and solve_seconds.
codec::Json to_json(const ModelBalance& balance);
/// `recompute`: layers that recompute all of themselves; `recompute_choice`, if any layer takes a
/// named choice: its name by layer index.
codec::Json recompute_json(recompute::RecomputeMask recompute,
                           const std::vector<cost::NamedChoice>& named);
/// `certificate.cuts[]`.
codec::Json to_json(const std::vector<joint::CutReason>& reasons);
/// One entry of `stages[]`, of `ranks[]`.
codec::Json to_json(const metrics::StageSummary& stage);
codec::Json to_json(const metrics::RankSummary& rank);

}  // namespace omnibal::plan
