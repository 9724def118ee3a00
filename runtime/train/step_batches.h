// SPDX-License-Identifier: Apache-2.0
//
// StepBatches: the micro-batches of one rank, step by step, loaded ahead in the background.
//
//   StepBatches batches(source, reader, needs);
//   batches.begin_step();
//   OMNIBAL_ASSIGN(PreparedBatch batch, batches.load(m));   // in the order of needs.order
//   batches.totals();                                       // of what the step has loaded
//
// Not the plan's choice of packs: steps/step_reader.h.
#pragma once

#include <functional>
#include <vector>

#include "omnibal/base/strong_index.h"
#include "omnibal/runtime/data/prefetcher.h"
#include "omnibal/runtime/model/micro_batch.h"
#include "omnibal/steps/step_reader.h"

namespace omnibal::runtime {

struct BatchNeeds {
  const ModelConfig& model;
  at::ScalarType type = at::kFloat;
  std::int64_t dp_rank = 0;
  std::vector<MicroBatchIndex> order;
  bool pixels = false;  // the rank runs the first layer; the source then reads pictures
};

/// Of one data-parallel rank in one step.
struct PackTotals {
  double weight = 0;  // by which the step's loss is divided
  std::int64_t tokens = 0;
  std::int64_t supervised = 0;
  std::int64_t tiles = 0;
};

class StepBatches {
 public:
  /// `source` and the model outlive this. `reader` stands at the first step.
  StepBatches(const PackSource& source, const steps::StepReader& reader, BatchNeeds needs);

  void begin_step();
  /// Tells once a second that it waits. Errors: those of PackSource::load and prepare.
  Result<PreparedBatch> load(MicroBatchIndex micro_batch,
                             const std::function<void()>& on_wait = {});
  const PackTotals& totals() const { return totals_; }

 private:
  void request_step();

  BatchNeeds needs_;
  steps::StepReader ahead_;  // a step further than the one that runs
  PackTotals totals_;
  Prefetcher prefetcher_;
};

/// Tensors of their own. Without pixels, tiles of which none has memory.
MicroBatch micro_batch_of(const PackArrays& pack, const BatchNeeds& needs);

}  // namespace omnibal::runtime
