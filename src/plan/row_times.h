// SPDX-License-Identifier: Apache-2.0
//
// RowTimes: the micro-batches of one rank's step, simulated in one order after another: times are
// computed once, an order only copies those whose place has changed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "omnibal/plan/epoch.h"

namespace omnibal::plan {

class RowTimes {
 public:
  /// The links are those of data-parallel rank 0. `pipeline` must outlive this.
  RowTimes(const StepPipeline& pipeline, std::span<const cost::Load> loads);

  /// Seconds of the computation when row order[m] runs as micro-batch m. O(actions).
  double seconds(std::span<const std::int32_t> order);

 private:
  void place(std::size_t micro_batch, std::int32_t row);

  const StepPipeline* pipeline_;
  simulate::PipelineTimes rows_;
  simulate::PipelineTimes placed_;
  std::vector<std::int32_t> order_;  // of placed_
};

}  // namespace omnibal::plan
