// SPDX-License-Identifier: Apache-2.0
#include "pipeline/loaded_batches.h"

namespace omnibal::runtime {
namespace {

std::size_t index_of(MicroBatchIndex micro_batch) {
  return static_cast<std::size_t>(micro_batch.value());
}

}  // namespace

std::vector<MicroBatchIndex> micro_batch_order(const std::vector<schedule::Action>& actions) {
  std::vector<MicroBatchIndex> order;
  std::vector<bool> seen;
  for (const schedule::Action& action : actions) {
    if (index_of(action.micro_batch) >= seen.size()) seen.resize(index_of(action.micro_batch) + 1);
    if (!seen[index_of(action.micro_batch)]) order.push_back(action.micro_batch);
    seen[index_of(action.micro_batch)] = true;
  }
  return order;
}

LoadedBatches::LoadedBatches(const std::vector<schedule::Action>& actions,
                             std::int32_t num_micro_batches,
                             const std::function<Result<PreparedBatch>(MicroBatchIndex)>& load)
    : load_(load),
      order_(micro_batch_order(actions)),
      loaded_(static_cast<std::size_t>(num_micro_batches)),
      actions_left_(loaded_.size()) {
  for (const schedule::Action& action : actions) ++actions_left_[index_of(action.micro_batch)];
}

Result<const PreparedBatch*> LoadedBatches::get(MicroBatchIndex micro_batch) {
  while (!loaded_[index_of(micro_batch)]) {
    const MicroBatchIndex next = order_[next_++];
    OMNIBAL_ASSIGN(PreparedBatch batch, load_(next));
    loaded_[index_of(next)] = std::make_unique<PreparedBatch>(std::move(batch));
  }
  return loaded_[index_of(micro_batch)].get();
}

void LoadedBatches::used(MicroBatchIndex micro_batch) {
  if (--actions_left_[index_of(micro_batch)] == 0) loaded_[index_of(micro_batch)].reset();
}

}  // namespace omnibal::runtime
