// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "omnibal/base/philox.h"
#include "omnibal/simulate/pipeline.h"

namespace omnibal::simulate {

/// Stage s takes forward[s] and twice as long backward (half of it for weights) in every
/// micro-batch; links cost nothing.
inline PipelineTimes uniform_times(const std::vector<double>& forward,
                                   std::int32_t num_micro_batches) {
  const auto num_stages = static_cast<std::int32_t>(forward.size());
  PipelineTimes times = PipelineTimes::zeros(num_stages, num_micro_batches);
  for (std::int32_t m = 0; m < num_micro_batches; ++m) {
    for (std::int32_t s = 0; s < num_stages; ++s) {
      times.forward_s[times.index(m, s)] = forward[static_cast<std::size_t>(s)];
      times.backward_s[times.index(m, s)] = 2 * forward[static_cast<std::size_t>(s)];
      times.weight_grad_s[times.index(m, s)] = forward[static_cast<std::size_t>(s)];
    }
  }
  return times;
}

/// Every time uniform in [0, 1), links and recomputation included.
inline PipelineTimes random_times(PhiloxRng& rng, std::int32_t num_stages,
                                  std::int32_t num_micro_batches) {
  PipelineTimes times = PipelineTimes::zeros(num_stages, num_micro_batches);
  for (std::vector<double>* field : {&times.forward_s, &times.backward_s, &times.recompute_s,
                                     &times.activation_s, &times.gradient_s}) {
    for (double& seconds : *field) seconds = rng.uniform();
  }
  for (std::size_t cell = 0; cell < times.backward_s.size(); ++cell) {
    times.weight_grad_s[cell] = rng.uniform() * times.backward_s[cell];
  }
  for (std::int32_t m = 0; m < num_micro_batches; ++m) {
    times.activation_s[times.index(m, num_stages - 1)] = 0;
    times.gradient_s[times.index(m, num_stages - 1)] = 0;
  }
  return times;
}

}  // namespace omnibal::simulate
