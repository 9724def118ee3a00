// SPDX-License-Identifier: Apache-2.0
//
// execute: the one recurrence behind makespan and timeline, so that both agree bit for bit.
#pragma once

#include <algorithm>
#include <cassert>
#include <vector>

#include "omnibal/simulate/pipeline.h"

namespace omnibal::simulate {

/// Of a backward action: recomputation first; a split one leaves the weight gradient out.
inline double backward_seconds(const CompiledSchedule& schedule, const PipelineTimes& times,
                               std::size_t cell) {
  const double seconds = times.recompute_s[cell] + times.backward_s[cell];
  return schedule.splits_backward ? seconds - times.weight_grad_s[cell] : seconds;
}

/// Calls visit(step, start, end) in an order of cause and effect; returns the latest end.
template <class Visit>
double execute(const CompiledSchedule& schedule, const PipelineTimes& times, const Visit& visit) {
  assert(times.num_stages == schedule.num_stages);
  assert(times.num_micro_batches == schedule.num_micro_batches);
  std::vector<double> ends(2 * times.forward_s.size());
  std::vector<double> clocks(static_cast<std::size_t>(schedule.num_ranks), 0.0);
  double* const forward_end = ends.data();
  double* const backward_end = ends.data() + times.forward_s.size();
  for (const CompiledSchedule::Step& step : schedule.steps) {
    const auto cell = static_cast<std::size_t>(step.cell);
    double& clock = clocks[static_cast<std::size_t>(step.rank)];
    double start = clock;
    if (step.kind == schedule::ActionKind::kForward) {
      if (step.waits) start = std::max(start, forward_end[cell - 1] + times.activation_s[cell - 1]);
      clock = start + times.forward_s[cell];
      forward_end[cell] = clock;
    } else if (step.kind == schedule::ActionKind::kBackward) {
      if (step.waits) start = std::max(start, backward_end[cell + 1] + times.gradient_s[cell]);
      clock = start + backward_seconds(schedule, times, cell);
      backward_end[cell] = clock;
    } else {
      clock = start + times.weight_grad_s[cell];
    }
    visit(step, start, clock);
  }
  return *std::max_element(clocks.begin(), clocks.end());
}

}  // namespace omnibal::simulate
