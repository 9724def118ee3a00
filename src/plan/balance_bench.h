// SPDX-License-Identifier: Apache-2.0
//
// BalanceBench: a profile at its reference load with the schedule that runs it; what the methods of
// model_balance.h work on.
#pragma once

#include <vector>

#include "omnibal/plan/model_balance.h"
#include "omnibal/simulate/stage_times.h"
#include "plan/rank_probe.h"

namespace omnibal::plan {

struct BalanceBench {
  cost::Profile profile;  // with those named choices that may be taken
  const ModelBalanceRequest& request;
  std::vector<cost::LayerCost> costs;
  std::vector<recompute::BarLayer> layers;
  simulate::PipelineLayers pipeline;
  schedule::Schedule lists;
  simulate::CompiledSchedule schedule;
  HeldByRanks held;
  std::vector<cost::Load> loads;  // by micro-batch
};

/// Cuts of a method that gives one answer. Errors: those of balance_model.
Result<partition::Cuts> cuts_by_method(const BalanceBench& bench, PartitionMethod method);

std::vector<double> forward_seconds(const BalanceBench& bench);
std::vector<std::int64_t> boundary_bytes(const BalanceBench& bench);

/// With the recomputation asked for, within the memory limit. Error: kMemoryInfeasible.
Result<JudgedPartition> judge(const BalanceBench& bench, const partition::Cuts& cuts);

/// Seconds of a step.
double simulated(const BalanceBench& bench, const partition::Cuts& cuts,
                 const cost::LayerChoices& choices);
JudgedPartition judged(const BalanceBench& bench, partition::Cuts cuts, cost::LayerChoices choices,
                       double makespan_s);

/// As room joint takes it.
std::vector<joint::JointLayer> joint_layers(const BalanceBench& bench);
joint::JointProblem joint_problem(const BalanceBench& bench,
                                  std::span<const joint::JointLayer> layers);

/// Best first, with the certificate of the best.
struct JointBalance {
  std::vector<JudgedPartition> judged;
  joint::Certificate certificate;
  std::optional<double> cost_of_restriction;
};
Result<JointBalance> balance_jointly(const BalanceBench& bench);

}  // namespace omnibal::plan
