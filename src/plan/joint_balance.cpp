// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "plan/balance_bench.h"

namespace omnibal::plan {
namespace {

using partition::Cuts;

/// Cuts of all other methods that have any here: joint is never slower than they are.
std::vector<Cuts> seeds(const BalanceBench& bench) {
  std::vector<Cuts> seeds;
  for (const PartitionMethod method :
       {PartitionMethod::kAnchor, PartitionMethod::kMinMax, PartitionMethod::kLeastVariance,
        PartitionMethod::kEvenLayers, PartitionMethod::kEvenParameters,
        PartitionMethod::kVisionFirst}) {
    Result<Cuts> cuts = cuts_by_method(bench, method);
    if (cuts) seeds.push_back(*std::move(cuts));
  }
  const std::vector<double> forward_s = forward_seconds(bench);
  const std::vector<std::int64_t> bytes = boundary_bytes(bench);
  const Result<std::vector<partition::RankedCuts>> neighbours =
      partition::rank_neighbours({forward_s, bytes, bench.request.num_stages}, bench.request.bmp);
  if (!neighbours) return seeds;
  for (const partition::RankedCuts& ranked : *neighbours) seeds.push_back(ranked.cuts);
  return seeds;
}

JudgedPartition to_judged(const BalanceBench& bench, const joint::JointPlan& plan) {
  return judged(bench, plan.cuts, plan.choices, plan.makespan_s);
}

/// The same cuts with the paper's recomputation, best first. Error: kMemoryInfeasible, of the
/// first, if none fits.
Result<std::vector<JudgedPartition>> with_bar(const BalanceBench& bench,
                                              const std::vector<JudgedPartition>& plans) {
  std::vector<JudgedPartition> judged;
  for (const JudgedPartition& plan : plans) {
    Result<JudgedPartition> again = judge(bench, plan.cuts);
    if (again) judged.push_back(*std::move(again));
  }
  if (judged.empty()) {
    OMNIBAL_RETURN_IF_ERROR(judge(bench, plans.front().cuts));
  }
  std::ranges::stable_sort(judged, {}, &JudgedPartition::makespan_s);
  return judged;
}

/// How much longer the restricted step is than the best unrestricted one.
Result<double> cost_of_restriction(joint::JointProblem problem, const joint::JointOptions& options,
                                   const joint::Evaluator& evaluate, double restricted_s) {
  problem.constraints.restriction = joint::Restriction::kNone;
  OMNIBAL_ASSIGN(const joint::JointAnswer free, joint::solve(problem, options, evaluate));
  return restricted_s / free.best.makespan_s - 1;
}

}  // namespace

std::vector<joint::JointLayer> joint_layers(const BalanceBench& bench) {
  std::vector<joint::JointLayer> layers =
      joint::joint_layers(bench.layers, bench.costs, bench.costs);
  if (bench.request.recompute == RecomputeMethod::kNone) {
    for (joint::JointLayer& layer : layers) layer.choices.clear();
  } else if (bench.request.recompute == RecomputeMethod::kJoint) {
    const auto named = cost::evaluate_choices(bench.profile, bench.profile.load);
    joint::add_named_choices(named, named, bench.costs, bench.costs, layers);
  }
  return layers;
}

joint::JointProblem joint_problem(const BalanceBench& bench,
                                  std::span<const joint::JointLayer> layers) {
  joint::JointProblem problem{.layers = layers,
                              .schedule = bench.request.schedule,
                              .num_stages = bench.request.num_stages,
                              .num_micro_batches = bench.request.num_micro_batches,
                              .in_flight = bench.held.in_flight,
                              .memory_limit_bytes = bench.request.memory_bytes,
                              .constraints = bench.request.constraints,
                              .chunks = bench.request.chunks};
  problem.constraints.recompute_everything = bench.request.recompute == RecomputeMethod::kFull;
  return problem;
}

Result<JointBalance> balance_jointly(const BalanceBench& bench) {
  const std::vector<joint::JointLayer> layers = joint_layers(bench);
  const joint::JointProblem problem = joint_problem(bench, layers);
  const joint::JointOptions options{.seeds = seeds(bench),
                                    .candidates = bench.request.bmp.candidates};
  const joint::Evaluator evaluate = [&](const Cuts& cuts, const joint::LayerChoices& choices) {
    return simulated(bench, cuts, choices);
  };
  OMNIBAL_ASSIGN(joint::JointAnswer answer, joint::solve(problem, options, evaluate));
  JointBalance balance{
      {to_judged(bench, answer.best)}, std::move(answer.certificate), std::nullopt};
  for (const joint::JointPlan& plan : answer.alternatives) {
    balance.judged.push_back(to_judged(bench, plan));
  }
  if (bench.request.recompute == RecomputeMethod::kBar) {
    OMNIBAL_ASSIGN(balance.judged, with_bar(bench, balance.judged));
    balance.certificate.cuts.clear();  // they speak of the joint recomputation
  }
  if (problem.constraints.restriction != joint::Restriction::kNone) {
    OMNIBAL_ASSIGN(
        balance.cost_of_restriction,
        cost_of_restriction(problem, options, evaluate, balance.judged.front().makespan_s));
  }
  return balance;
}

}  // namespace omnibal::plan
