// SPDX-License-Identifier: Apache-2.0
//
// Learning rate by step, as the schedules of transformers compute it.
//
//   const LearningRateSchedule schedule = {.shape = ScheduleShape::kCosine, .num_warmup = 100,
//                                          .num_steps = 5000};
//   const double factor = learning_rate_factor(schedule, 0);   // 0: warm-up begins
//
// Not a state: the factor depends on the number of the step alone.
#pragma once

#include <cstdint>

namespace omnibal::runtime {

enum class ScheduleShape { kConstant, kLinear, kCosine };

struct LearningRateSchedule {
  ScheduleShape shape = ScheduleShape::kCosine;
  std::int64_t num_warmup = 0;  // steps in which the rate rises from 0
  std::int64_t num_steps = 1;   // of the whole training: linear and cosine end at 0 there
};

/// What the base rate is multiplied by in step `step`, counted from 0.
double learning_rate_factor(const LearningRateSchedule& schedule, std::int64_t step);

}  // namespace omnibal::runtime
