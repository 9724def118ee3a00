// SPDX-License-Identifier: Apache-2.0
#include "joint/models.h"

#include <algorithm>

#include "joint/first_layers.h"
#include "joint/stage_knapsack.h"

namespace omnibal::joint {
namespace {

/// More make no difference: a stage has no more layers of a class that recompute.
std::int32_t most_of_a_class(const JointProblem& problem) {
  ClassCounts counts{};
  for (const JointLayer& layer : problem.layers) {
    if (!layer.choices.empty()) ++counts[static_cast<std::size_t>(layer.layer_class)];
  }
  return std::max(counts[0], counts[1]);
}

}  // namespace

TickScale tick_scale(const JointProblem& problem) {
  double total_s = problem.constraints.first_stage.seconds + problem.constraints.last_stage.seconds;
  for (const JointLayer& layer : problem.layers) {
    double recompute_s = 0;
    for (const RecomputeChoice& choice : layer.choices) {
      recompute_s = std::max(recompute_s, choice.recompute_s);
    }
    total_s += layer.forward_s + layer.backward_s + recompute_s;
  }
  return {total_s, problem.num_micro_batches};
}

std::vector<std::unique_ptr<StageModel>> stage_models(const JointProblem& problem,
                                                      const StageTables& tables,
                                                      const TickScale& scale) {
  std::vector<std::unique_ptr<StageModel>> models;
  const auto add_rule = [&](const ClassCounts& counts) {
    models.push_back(std::make_unique<FirstLayers>(tables, problem.layers, scale, counts));
  };
  if (problem.constraints.recompute_everything) {
    add_rule(kEveryLayer);
  } else if (problem.constraints.restriction == Restriction::kMegatron) {
    for (std::int32_t n = 0; n <= most_of_a_class(problem); ++n) add_rule({n, n, 0});
  } else {
    models.push_back(std::make_unique<StageKnapsack>(tables, problem.layers, scale));
  }
  return models;
}

}  // namespace omnibal::joint
