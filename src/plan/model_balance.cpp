// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/model_balance.h"

#include <algorithm>
#include <limits>

#include "omnibal/simulate/stage_times.h"

namespace omnibal::plan {
namespace {

using partition::Cuts;
using recompute::RecomputeMask;

constexpr double kCannotRun = std::numeric_limits<double>::infinity();

/// A profile at its reference load, with the schedule that runs it.
struct Bench {
  const cost::Profile& profile;
  const ModelBalanceRequest& request;
  std::vector<cost::LayerCost> costs;
  std::vector<recompute::BarLayer> layers;
  simulate::CompiledSchedule schedule;
  std::vector<std::int64_t> in_flight;  // by stage
  std::vector<cost::Load> loads;        // by micro-batch
};

Result<Bench> set_up(const cost::Profile& profile, const ModelBalanceRequest& request) {
  OMNIBAL_ASSIGN(
      const schedule::Schedule schedule,
      schedule::make_schedule(request.schedule, request.num_stages, request.num_micro_batches));
  OMNIBAL_ASSIGN(simulate::CompiledSchedule compiled, simulate::compile(schedule));
  OMNIBAL_RETURN_IF_ERROR(cost::check_bytes(profile, profile.load, request.num_micro_batches));
  std::vector<cost::LayerCost> costs = cost::evaluate(profile, profile.load);
  std::vector<recompute::BarLayer> layers = recompute::bar_layers(profile, costs);
  return Bench{
      profile,
      request,
      std::move(costs),
      std::move(layers),
      std::move(compiled),
      in_flight(schedule),
      std::vector<cost::Load>(static_cast<std::size_t>(request.num_micro_batches), profile.load)};
}

/// The recomputation asked for, within the memory limit if there is one.
Result<RecomputeMask> recomputation(const Bench& bench, const Cuts& cuts) {
  const std::vector<std::int32_t> first_layers = partition::first_layers(cuts);
  const recompute::MemoryProbe probe =
      recompute::modelled_memory(bench.costs, first_layers, bench.in_flight);
  const recompute::BarProblem problem{
      bench.layers, first_layers,
      bench.request.memory_bytes.value_or(std::numeric_limits<std::int64_t>::max())};
  if (bench.request.recompute == RecomputeMethod::kBar) return recompute::bar(problem, probe);
  const RecomputeMask mask = bench.request.recompute == RecomputeMethod::kFull
                                 ? recompute::recompute_full(bench.layers)
                                 : recompute::recompute_none(bench.layers.size());
  OMNIBAL_RETURN_IF_ERROR(recompute::check_memory(problem, mask, probe));
  return mask;
}

double simulated(const Bench& bench, const Cuts& cuts, const RecomputeMask& mask) {
  return simulate::makespan(
      bench.schedule, simulate::pipeline_times(simulate::stage_costs(bench.profile, cuts, mask),
                                               bench.request.links, bench.loads));
}

Result<JudgedPartition> judge(const Bench& bench, const Cuts& cuts) {
  OMNIBAL_ASSIGN(RecomputeMask mask, recomputation(bench, cuts));
  const double makespan_s = simulated(bench, cuts, mask);
  return JudgedPartition{cuts, std::move(mask), makespan_s};
}

template <class Value>
std::vector<double> column(const std::vector<Value>& rows, double Value::*field) {
  std::vector<double> values;
  for (const Value& row : rows) values.push_back(row.*field);
  return values;
}

Result<Cuts> by_parameters(const Bench& bench) {
  const std::vector<double> parameters =
      column(bench.profile.layers, &cost::LayerProfile::parameters);
  if (*std::max_element(parameters.begin(), parameters.end()) <= 0) {
    return Error(ErrorCode::kMissingKey, "the profile does not give its layers' parameters")
        .at_key("layers[0].parameters")
        .with_hint("add \"parameters\" to the layers, or use another method");
  }
  return partition::partition_min_max(parameters, bench.request.num_stages);
}

Result<Cuts> by_kind(const Bench& bench) {
  std::vector<std::optional<model::LayerKind>> kinds;
  for (const cost::LayerProfile& layer : bench.profile.layers) kinds.push_back(layer.kind);
  return partition::partition_vision_first(kinds, bench.request.num_stages);
}

/// Cuts of every method that gives one answer.
Result<Cuts> cuts_by_method(const Bench& bench) {
  const std::vector<double> forward_s = column(bench.costs, &cost::LayerCost::forward_s);
  const std::int32_t num_stages = bench.request.num_stages;
  switch (bench.request.method) {
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

/// All candidates of the search that can run, best first.
Result<std::vector<JudgedPartition>> by_search(const Bench& bench) {
  const std::vector<double> forward_s = column(bench.costs, &cost::LayerCost::forward_s);
  std::vector<std::int64_t> boundary_bytes;
  for (const cost::LayerCost& layer : bench.costs) boundary_bytes.push_back(layer.boundary_bytes);
  const partition::BmpProblem problem{forward_s, boundary_bytes, bench.request.num_stages};
  const auto evaluate = [&](const Cuts& cuts) {
    const Result<JudgedPartition> judged = judge(bench, cuts);
    return judged ? judged->makespan_s : kCannotRun;
  };
  OMNIBAL_ASSIGN(const std::vector<partition::RankedCuts> ranked,
                 partition::partition_bmp(problem, bench.request.bmp, evaluate));
  std::vector<JudgedPartition> judged;
  for (const partition::RankedCuts& candidate : ranked) {
    if (candidate.makespan_s == kCannotRun && !judged.empty()) break;
    OMNIBAL_ASSIGN(JudgedPartition partition, judge(bench, candidate.cuts));
    judged.push_back(std::move(partition));
  }
  return judged;
}

}  // namespace

Result<ModelBalance> balance_model(const cost::Profile& profile,
                                   const ModelBalanceRequest& request) {
  // First: a schedule may be large, of stages that no cut can fill.
  OMNIBAL_RETURN_IF_ERROR(partition::check_stages(static_cast<std::int64_t>(profile.layers.size()),
                                                  request.num_stages));
  OMNIBAL_ASSIGN(const Bench bench, set_up(profile, request));
  std::vector<JudgedPartition> judged;
  if (request.method == PartitionMethod::kBmp) {
    OMNIBAL_ASSIGN(judged, by_search(bench));
  } else {
    OMNIBAL_ASSIGN(const Cuts cuts, cuts_by_method(bench));
    OMNIBAL_ASSIGN(JudgedPartition only, judge(bench, cuts));
    judged.push_back(std::move(only));
  }
  ModelBalance balance{std::move(judged.front()), {}, {}, {}};
  balance.alternatives.assign(std::make_move_iterator(judged.begin() + 1),
                              std::make_move_iterator(judged.end()));
  balance.stages =
      metrics::summarize_stages(bench.costs, partition::first_layers(balance.best.cuts),
                                balance.best.recompute, bench.in_flight);
  balance.metrics = metrics::partition_metrics(bench.costs, balance.stages);
  return balance;
}

}  // namespace omnibal::plan
