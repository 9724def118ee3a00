// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/pack_time.h"

#include <algorithm>
#include <limits>

namespace omnibal::plan {

pack::PackEvaluator step_time_of_packs(const steps::StepOptions& options,
                                       const cost::LinearCost& forward) {
  steps::StepOptions counted = options;
  counted.tail = steps::Tail::kZeroWeight;
  counted.forward = forward;
  return [counted, forward](std::span<const metrics::PackLoad> loads) {
    const Result<steps::StepTable> table = steps::form_steps(loads, counted);
    if (!table) return std::numeric_limits<double>::max();
    const metrics::RankGrid grid = table->grid();
    double total = 0;
    for (std::size_t begin = 0; begin < grid.packs.size();
         begin += static_cast<std::size_t>(grid.dp)) {
      double slowest = 0;
      for (const std::int64_t pack : grid.packs.subspan(begin, static_cast<std::size_t>(grid.dp))) {
        if (pack == steps::kZeroWeightPack) continue;
        slowest =
            std::max(slowest, forward.at(metrics::to_load(loads[static_cast<std::size_t>(pack)])));
      }
      total += slowest;
    }
    return total;
  };
}

}  // namespace omnibal::plan
