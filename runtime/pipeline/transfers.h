// SPDX-License-Identifier: Apache-2.0
//
// Transfers: the boundary tensors on their way between the ranks of a pipeline.
//
//   transfers.send(action, activations);              // returns at once, keeps the tensor
//   transfers.expect(action, buffer);                 // the receive begins
//   OMNIBAL_ASSIGN(const at::Tensor x, transfers.take(action));   // waits for it
//
// Not for stages on one rank: they hand tensors over.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <vector>

#include "omnibal/runtime/comm/communicator.h"
#include "omnibal/schedule/schedule.h"

namespace omnibal::runtime {

class Transfers {
 public:
  /// Both outlive this.
  Transfers(const schedule::Schedule& schedule, Communicator& pp) : schedule_(schedule), pp_(pp) {}

  void send(const schedule::Action& action, const at::Tensor& tensor);
  /// `buffer`: contiguous.
  void expect(const schedule::Action& action, at::Tensor buffer);
  Result<at::Tensor> take(const schedule::Action& action);
  /// Receives that have begun and were not taken.
  std::size_t num_expected() const { return expected_.size(); }
  /// Lets go of what has been sent.
  void release_sent();
  /// Waits for all sends.
  Status finish();

 private:
  struct Transfer {
    at::Tensor tensor;
    Request request;
  };

  /// The action's message: unlike that of any other boundary, direction and micro-batch. At most
  /// 2 x stages x micro-batches, which kMaxActions keeps below kLargestTag.
  int tag_of(const schedule::Action& action) const;
  int peer_of(const schedule::Action& action) const;

  const schedule::Schedule& schedule_;
  Communicator& pp_;
  std::vector<Transfer> sent_;
  std::map<int, Transfer> expected_;
};

}  // namespace omnibal::runtime
