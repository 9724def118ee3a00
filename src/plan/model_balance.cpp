// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/model_balance.h"

#include <algorithm>
#include <limits>

#include "omnibal/plan/host_memory.h"
#include "omnibal/simulate/ranked_stages.h"
#include "plan/balance_bench.h"

namespace omnibal::plan {
namespace {

using partition::Cuts;
using recompute::RecomputeMask;

constexpr double kCannotRun = std::numeric_limits<double>::infinity();

/// Named choices go with a recomputation that weighs them, and with targets that know them.
Status check_choices(const ModelBalanceRequest& request) {
  if (request.choices == cost::ChoiceSet::kFull) return {};
  const bool joint = request.recompute == RecomputeMethod::kJoint;
  const bool megatron = request.constraints.restriction == joint::Restriction::kMegatron;
  if (joint && !megatron) return {};
  return Error(ErrorCode::kInvalidArgument,
               joint ? "restriction megatron recomputes whole layers"
                     : "only recompute joint weighs the choices that a profile names")
      .at_key("recompute-choices")
      .with_hint(joint ? "drop --recompute-choices, or --restrict megatron"
                       : "use --recompute joint, or drop --recompute-choices");
}

Result<BalanceBench> set_up(const cost::Profile& profile, const ModelBalanceRequest& request) {
  OMNIBAL_ASSIGN(const schedule::Schedule schedule,
                 schedule::make_schedule(request.schedule, request.num_stages,
                                         request.num_micro_batches, {.chunks = request.chunks}));
  OMNIBAL_ASSIGN(simulate::CompiledSchedule compiled, simulate::compile(schedule));
  OMNIBAL_RETURN_IF_ERROR(cost::check_bytes(profile, profile.load, request.num_micro_batches));
  cost::Profile allowed = profile;
  cost::keep_choices(allowed, request.choices);
  std::vector<cost::LayerCost> costs = cost::evaluate(profile, profile.load);
  std::vector<recompute::BarLayer> layers = recompute::bar_layers(profile, costs);
  simulate::PipelineLayers pipeline = simulate::pipeline_layers(allowed);
  return BalanceBench{
      std::move(allowed),
      request,
      std::move(costs),
      std::move(layers),
      std::move(pipeline),
      schedule,
      std::move(compiled),
      held_by_ranks(schedule),
      std::vector<cost::Load>(static_cast<std::size_t>(request.num_micro_batches), profile.load)};
}

/// Layers that recompute all of themselves or nothing, within the memory limit if there is one.
Result<RecomputeMask> whole_recomputation(const BalanceBench& bench, const Cuts& cuts) {
  const std::vector<std::int32_t> first_layers = partition::first_layers(cuts);
  const recompute::MemoryProbe probe = memory_probe(bench.held, bench.layers, bench.costs, cuts);
  const recompute::BarProblem problem{
      bench.layers, first_layers,
      bench.request.memory_bytes.value_or(std::numeric_limits<std::int64_t>::max()),
      bench.held.stage_rank};
  if (bench.request.recompute == RecomputeMethod::kBar) return recompute::bar(problem, probe);
  const RecomputeMask mask = bench.request.recompute == RecomputeMethod::kFull
                                 ? recompute::recompute_full(bench.layers)
                                 : recompute::recompute_none(bench.layers.size());
  OMNIBAL_RETURN_IF_ERROR(recompute::check_memory(problem, mask, probe));
  return mask;
}

Result<cost::LayerChoices> recomputation(const BalanceBench& bench, const Cuts& cuts) {
  if (bench.request.recompute == RecomputeMethod::kJoint) {
    const std::vector<joint::JointLayer> layers = joint_layers(bench);
    return joint::choose_recomputation(joint_problem(bench, layers), cuts);
  }
  OMNIBAL_ASSIGN(const RecomputeMask mask, whole_recomputation(bench, cuts));
  return cost::LayerChoices(mask.begin(), mask.end());
}

Result<Cuts> by_parameters(const BalanceBench& bench) {
  std::vector<double> parameters;
  for (const cost::LayerProfile& layer : bench.profile.layers) {
    parameters.push_back(layer.parameters);
  }
  if (*std::max_element(parameters.begin(), parameters.end()) <= 0) {
    return Error(ErrorCode::kMissingKey, "the profile does not give its layers' parameters")
        .at_key("layers[0].parameters")
        .with_hint("add \"parameters\" to the layers, or use another method");
  }
  return partition::partition_min_max(parameters, bench.request.num_stages);
}

Result<Cuts> by_kind(const BalanceBench& bench) {
  std::vector<std::optional<model::LayerKind>> kinds;
  for (const cost::LayerProfile& layer : bench.profile.layers) kinds.push_back(layer.kind);
  return partition::partition_vision_first(kinds, bench.request.num_stages);
}

/// All candidates of the search that can run, best first.
Result<std::vector<JudgedPartition>> by_search(const BalanceBench& bench) {
  const std::vector<double> forward_s = forward_seconds(bench);
  const std::vector<std::int64_t> bytes = boundary_bytes(bench);
  const auto evaluate = [&](const Cuts& cuts) {
    const Result<JudgedPartition> judged = judge(bench, cuts);
    return judged ? judged->makespan_s : kCannotRun;
  };
  OMNIBAL_ASSIGN(const std::vector<partition::RankedCuts> ranked,
                 partition::partition_bmp({forward_s, bytes, bench.request.num_stages},
                                          bench.request.bmp, evaluate));
  std::vector<JudgedPartition> judged;
  for (const partition::RankedCuts& candidate : ranked) {
    if (candidate.makespan_s == kCannotRun && !judged.empty()) break;
    OMNIBAL_ASSIGN(JudgedPartition partition, judge(bench, candidate.cuts));
    judged.push_back(std::move(partition));
  }
  return judged;
}

/// Every method's candidates, best first; `balance` takes what comes with them.
Result<std::vector<JudgedPartition>> candidates(const BalanceBench& bench, ModelBalance& balance) {
  const PartitionMethod method = bench.request.method;
  if (method == PartitionMethod::kBmp) return by_search(bench);
  if (method == PartitionMethod::kJoint) {
    OMNIBAL_ASSIGN(JointBalance joint, balance_jointly(bench));
    balance.certificate = std::move(joint.certificate);
    balance.cost_of_restriction = joint.cost_of_restriction;
    return std::move(joint.judged);
  }
  OMNIBAL_ASSIGN(const Cuts cuts, cuts_by_method(bench, method));
  OMNIBAL_ASSIGN(JudgedPartition only, judge(bench, cuts));
  return std::vector{std::move(only)};
}

}  // namespace

std::vector<double> forward_seconds(const BalanceBench& bench) {
  std::vector<double> seconds;
  for (const cost::LayerCost& layer : bench.costs) seconds.push_back(layer.forward_s);
  return seconds;
}

std::vector<std::int64_t> boundary_bytes(const BalanceBench& bench) {
  std::vector<std::int64_t> bytes;
  for (const cost::LayerCost& layer : bench.costs) bytes.push_back(layer.boundary_bytes);
  return bytes;
}

Result<Cuts> cuts_by_method(const BalanceBench& bench, PartitionMethod method) {
  const std::vector<double> forward_s = forward_seconds(bench);
  const std::int32_t num_stages = bench.request.num_stages;
  switch (method) {
    case PartitionMethod::kMinMax:
      return partition::partition_min_max(forward_s, num_stages);
    case PartitionMethod::kLeastVariance:
      return partition::partition_least_variance(forward_s, num_stages);
    case PartitionMethod::kEvenLayers:
      return partition::partition_even_layers(static_cast<std::int32_t>(forward_s.size()),
                                              num_stages);
    case PartitionMethod::kEvenParameters:
      return by_parameters(bench);
    case PartitionMethod::kVisionFirst:
      return by_kind(bench);
    default:
      return partition::partition_anchor(forward_s, num_stages);
  }
}

double simulated(const BalanceBench& bench, const Cuts& cuts, const cost::LayerChoices& choices) {
  return simulate::makespan(
      bench.schedule,
      simulate::pipeline_times(simulate::chosen_stage_costs(bench.pipeline, cuts, choices),
                               bench.request.links, bench.loads));
}

JudgedPartition judged(const BalanceBench& bench, Cuts cuts, cost::LayerChoices choices,
                       double makespan_s) {
  JudgedPartition partition{
      std::move(cuts), joint::to_mask(choices), makespan_s, std::move(choices), {}};
  partition.named = cost::named_choices(bench.profile, partition.choices);
  return partition;
}

Result<JudgedPartition> judge(const BalanceBench& bench, const Cuts& cuts) {
  OMNIBAL_ASSIGN(cost::LayerChoices choices, recomputation(bench, cuts));
  const double makespan_s = simulated(bench, cuts, choices);
  return judged(bench, cuts, std::move(choices), makespan_s);
}

Result<ModelBalance> balance_model(const cost::Profile& profile,
                                   const ModelBalanceRequest& request) {
  // First: a schedule may be large, of stages that no cut can fill.
  OMNIBAL_RETURN_IF_ERROR(partition::check_stages(static_cast<std::int64_t>(profile.layers.size()),
                                                  request.num_stages));
  OMNIBAL_RETURN_IF_ERROR(check_choices(request));
  OMNIBAL_ASSIGN(const BalanceBench bench, set_up(profile, request));
  ModelBalance balance;
  OMNIBAL_ASSIGN(std::vector<JudgedPartition> judged, candidates(bench, balance));
  balance.best = std::move(judged.front());
  balance.alternatives.assign(std::make_move_iterator(judged.begin() + 1),
                              std::make_move_iterator(judged.end()));
  OMNIBAL_RETURN_IF_ERROR(check_host_memory(
      {bench.lists, bench.profile, bench.profile.load, balance.best.cuts, balance.best.choices},
      request.host_share_bytes));
  simulate::RankedStages ranked =
      simulate::ranked_stages(bench.lists, cost::with_choices(bench.profile, balance.best.choices),
                              bench.profile.load, balance.best.cuts, balance.best.recompute);
  balance.stages = std::move(ranked.stages);
  balance.ranks = std::move(ranked.ranks);
  balance.metrics = metrics::partition_metrics(bench.costs, balance.stages);
  return balance;
}

}  // namespace omnibal::plan
