// SPDX-License-Identifier: Apache-2.0
//
// The order of the micro-batches inside each step, chosen by simulating it. The packs that run at
// the same time are alike on all data-parallel ranks, so one order serves all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "omnibal/plan/epoch.h"
#include "omnibal/steps/row_order.h"

namespace omnibal::plan {

struct OrderQuestion {
  const StepPipeline& pipeline;
  const steps::StepTable& dealt;
  std::span<const metrics::PackLoad> loads;
  const cost::LinearCost& forward;  // what makes a micro-batch light
  steps::Tail tail = steps::Tail::kZeroWeight;
  std::optional<std::int64_t> first_pack;  // if it runs in the first row, that row stays
  int threads = 0;
};

struct OrderedSteps {
  steps::StepTable table;                                    // the same packs in every step
  steps::RowOrder later_epochs = steps::RowOrder::kAsDealt;  // the better rule on average
};

/// Of each step the fastest of: as dealt, light ones at both ends, and what a local search by
/// swaps makes of the best of several rules on the mean rank. No step is slower than as dealt, by
/// the pipeline's links and end of step. Rows that the tail policy has put where they are (those of
/// zero-weight packs, those that run again or lend packs) stay. The same for any number of threads.
/// O(simulated actions), of which the search makes at most 2e8 plus a few a step.
OrderedSteps order_micro_batches(const OrderQuestion& question);

}  // namespace omnibal::plan
