// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/optimizer/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace omnibal::runtime {

double learning_rate_factor(const LearningRateSchedule& schedule, std::int64_t step) {
  const auto at = static_cast<double>(step);
  const auto warmup = static_cast<double>(schedule.num_warmup);
  if (step < schedule.num_warmup) return at / std::max(1.0, warmup);
  const auto steps = static_cast<double>(schedule.num_steps);
  const double rest = std::max(1.0, steps - warmup);
  switch (schedule.shape) {
    case ScheduleShape::kConstant:
      return 1.0;
    case ScheduleShape::kLinear:
      return std::max(0.0, (steps - at) / rest);
    case ScheduleShape::kCosine:
      return std::max(0.0, 0.5 * (1.0 + std::cos(std::numbers::pi * ((at - warmup) / rest))));
  }
  return 1.0;
}

}  // namespace omnibal::runtime
