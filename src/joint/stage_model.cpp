// SPDX-License-Identifier: Apache-2.0
#include "joint/stage_model.h"

#include <algorithm>
#include <limits>

namespace omnibal::joint {

StageTables::StageTables(const JointProblem& problem, const TickScale& scale)
    : num_layers_(static_cast<std::int32_t>(problem.layers.size())),
      forward_{0},
      backward_{0},
      static_{0},
      activation_{0},
      extra_ticks_(at(problem.num_stages), 0),
      extra_bytes_(at(problem.num_stages), 0),
      in_flight_(problem.in_flight),
      limit_bytes_(problem.memory_limit_bytes.value_or(std::numeric_limits<std::int64_t>::max())) {
  for (const JointLayer& layer : problem.layers) {
    forward_.push_back(forward_.back() + scale.ticks(layer.forward_s));
    backward_.push_back(backward_.back() + scale.ticks(layer.backward_s));
    static_.push_back(static_.back() + layer.static_bytes);
    activation_.push_back(activation_.back() + layer.activation_bytes);
  }
  extra_ticks_.front() += scale.ticks(problem.constraints.first_stage.seconds);
  extra_ticks_.back() += scale.ticks(problem.constraints.last_stage.seconds);
  extra_bytes_.front() += problem.constraints.first_stage.bytes;
  extra_bytes_.back() += problem.constraints.last_stage.bytes;
}

std::int64_t peak_bytes(const StageTables& tables, std::span<const JointLayer> layers,
                        const StageSpan& span, const LayerChoices& choices) {
  std::int64_t kept = 0;
  std::int64_t transient = 0;
  for (auto i = static_cast<std::size_t>(span.begin); i < static_cast<std::size_t>(span.end); ++i) {
    const JointLayer& layer = layers[i];
    if (choices[i] == 0) {
      kept += layer.activation_bytes;
    } else {
      const RecomputeChoice& choice = layer.choices[static_cast<std::size_t>(choices[i]) - 1];
      kept += choice.kept_bytes;
      transient = std::max(transient, transient_bytes(layer, choice));
    }
  }
  return tables.static_bytes(span) + tables.in_flight(span) * kept + transient;
}

}  // namespace omnibal::joint
