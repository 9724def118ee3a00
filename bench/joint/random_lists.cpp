// SPDX-License-Identifier: Apache-2.0
//
// bench_joint N: N random lists of each kind, 20 to 200 layers on 2 to 32 stages, 1F1B with p to 4p
// micro-batches, memory between the least that fits and twice that.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "omnibal/base/philox.h"
#include "omnibal/joint/joint.h"
#include "omnibal/simulate/stage_times.h"

namespace {

using namespace omnibal;

struct ListKind {
  std::string_view name;
  double unlike_within;  // layers of a part differ by up to this fraction
  double frozen_vision;  // share of lists with a frozen vision part
};

struct Bench {
  cost::Profile profile;
  std::vector<cost::LayerCost> costs;
  std::vector<joint::JointLayer> layers;
  schedule::Schedule schedule;
  simulate::CompiledSchedule compiled;
  simulate::PipelineLayers pipeline;
  std::vector<cost::Load> loads;

  joint::JointProblem problem(std::optional<std::int64_t> limit) const {
    return {
        layers, schedule.kind, schedule.num_stages, schedule.num_micro_batches, in_flight(schedule),
        limit};
  }
  double step_s(const partition::Cuts& cuts, const joint::LayerChoices& choices) const {
    const auto stages = simulate::stage_costs(pipeline, cuts, joint::to_mask(choices));
    return simulate::makespan(compiled, simulate::pipeline_times(stages, {}, loads));
  }
};

Bench made(PhiloxRng& rng, const ListKind& kind) {
  Bench bench;
  const std::uint32_t num_layers = 20 + rng.below(181);
  const std::uint32_t num_vision = num_layers / 2;
  const bool frozen = rng.uniform() < kind.frozen_vision;
  const auto scaled = [&](double value) {
    return value * (1 + kind.unlike_within * rng.uniform());
  };
  for (std::uint32_t i = 0; i < num_layers; ++i) {
    const bool vision = i < num_vision;
    cost::LayerProfile& layer = bench.profile.layers.emplace_back();
    layer.kind = vision ? model::LayerKind::kVisionBlock : model::LayerKind::kLlmBlock;
    layer.trainable = !vision || !frozen;
    layer.forward_s.constant = scaled(vision ? 3.1e-3 : 5.2e-3);
    layer.input_grad_s = layer.weight_grad_s = layer.recompute_s = layer.forward_s;
    layer.activation_bytes.constant = scaled(vision ? 6e8 : 1e9);
    layer.recomputed_bytes.constant = layer.activation_bytes.constant * scaled(0.06);
    layer.static_bytes.constant = vision ? 5.5e8 : 1.76e9;
  }
  const auto stages = std::min(2 << rng.below(5), static_cast<int>(num_layers));
  const auto micro_batches = stages * (1 + static_cast<int>(rng.below(4)));
  bench.costs = cost::evaluate(bench.profile, {});
  bench.layers = joint::joint_layers(recompute::bar_layers(bench.profile, bench.costs), bench.costs,
                                     bench.costs);
  bench.schedule =
      *schedule::make_schedule(schedule::ScheduleKind::kOneFOneB, stages, micro_batches);
  bench.compiled = *simulate::compile(bench.schedule);
  bench.pipeline = simulate::pipeline_layers(bench.profile);
  bench.loads.resize(static_cast<std::size_t>(micro_batches));
  return bench;
}

std::vector<partition::Cuts> other_methods(const Bench& bench) {
  std::vector<double> forward_s;
  for (const cost::LayerCost& layer : bench.costs) forward_s.push_back(layer.forward_s);
  const std::vector<std::int64_t> no_bytes(forward_s.size(), 0);
  const std::int32_t stages = bench.schedule.num_stages;
  std::vector<partition::Cuts> cuts{*partition::partition_min_max(forward_s, stages),
                                    *partition::partition_least_variance(forward_s, stages)};
  const auto neighbours = partition::rank_neighbours({forward_s, no_bytes, stages}, {});
  for (const partition::RankedCuts& ranked : *neighbours) cuts.push_back(ranked.cuts);
  return cuts;
}

/// Least step of the methods' cuts, each with the recomputation of least time.
double best_of(const Bench& bench, const joint::JointProblem& problem,
               const std::vector<partition::Cuts>& all) {
  double best = std::numeric_limits<double>::infinity();
  for (const partition::Cuts& cuts : all) {
    const auto choices = joint::choose_recomputation(problem, cuts);
    if (choices) best = std::min(best, bench.step_s(cuts, *choices));
  }
  return best;
}

struct Tally {
  std::vector<double> ms, bound_gap, others;
  int proven = 0, optimal = 0, none_fits = 0;
};

double at(std::vector<double> values, double quantile) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(quantile * static_cast<double>(values.size() - 1))];
}

void measure(const Bench& bench, PhiloxRng& rng, Tally& tally) {
  const auto least = static_cast<double>(*joint::least_memory_limit(bench.problem({})));
  const auto problem = bench.problem(static_cast<std::int64_t>(least * (1 + rng.uniform())));
  joint::JointOptions options;
  options.seeds = other_methods(bench);
  const joint::Evaluator evaluate = [&](const auto& cuts, const auto& choices) {
    return bench.step_s(cuts, choices);
  };
  const std::clock_t began = std::clock();
  const auto answer = joint::solve(problem, options, evaluate);
  tally.ms.push_back(1e3 * static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC);
  const double gap = answer->best.makespan_s / answer->certificate.makespan_bound_s - 1;
  tally.bound_gap.push_back(100 * std::max(0.0, gap));
  tally.proven += answer->certificate.proven ? 1 : 0;
  tally.optimal += gap < 1e-9 ? 1 : 0;
  const double other = best_of(bench, problem, options.seeds);
  tally.none_fits += std::isinf(other) ? 1 : 0;
  if (!std::isinf(other)) tally.others.push_back(100 * (other / answer->best.makespan_s - 1));
}

}  // namespace

int main(int argc, char** argv) {
  const int lists = argc > 1 ? std::atoi(argv[1]) : 200;
  fmt::print(
      "| layers of a part | ms of processor time: median, most | bottleneck proven | step optimal "
      "| step above its "
      "bound, %: mean, most | others above, %: median, most | others do not fit |\n"
      "|---|---|---|---|---|---|---|\n");
  for (const ListKind& kind :
       {ListKind{"alike", 0, 0}, ListKind{"alike, frozen vision", 0, 1},
        ListKind{"within 2 %", 0.02, 0}, ListKind{"within a half", 0.5, 0.5}}) {
    PhiloxRng rng(71, RngStream::kTest);
    Tally tally;
    for (int i = 0; i < lists; ++i) measure(made(rng, kind), rng, tally);
    double mean = 0;
    for (const double gap : tally.bound_gap) mean += gap / lists;
    fmt::print("| {} | {:.1f}, {:.1f} | {} of {} | {} | {:.2f}, {:.2f} | {:.2f}, {:.2f} | {} |\n",
               kind.name, at(tally.ms, 0.5), at(tally.ms, 1), tally.proven, lists, tally.optimal,
               mean, at(tally.bound_gap, 1), at(tally.others, 0.5), at(tally.others, 1),
               tally.none_fits);
  }
}
