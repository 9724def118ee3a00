// SPDX-License-Identifier: Apache-2.0
//
// LoadedBatches: the micro-batches that a rank's actions need, each loaded before its first and
// dropped behind its last one.
//
//   LoadedBatches batches(actions, num_micro_batches, load);
//   OMNIBAL_ASSIGN(const PreparedBatch* batch, batches.get(m));
//   batches.used(m);                                  // an action is done
//
// Not ahead of time: data/prefetcher.h.
#pragma once

#include <memory>
#include <vector>

#include "omnibal/runtime/pipeline/pipeline.h"

namespace omnibal::runtime {

class LoadedBatches {
 public:
  LoadedBatches(const std::vector<schedule::Action>& actions, std::int32_t num_micro_batches,
                const std::function<Result<PreparedBatch>(MicroBatchIndex)>& load);

  /// Loads all that come before it, too.
  Result<const PreparedBatch*> get(MicroBatchIndex micro_batch);
  void used(MicroBatchIndex micro_batch);

 private:
  const std::function<Result<PreparedBatch>(MicroBatchIndex)>& load_;
  std::vector<MicroBatchIndex> order_;
  std::size_t next_ = 0;                                // in order_
  std::vector<std::unique_ptr<PreparedBatch>> loaded_;  // by micro-batch
  std::vector<std::int64_t> actions_left_;
};

}  // namespace omnibal::runtime
