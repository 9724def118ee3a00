// SPDX-License-Identifier: Apache-2.0
//
// Channel: a communicator of NCCL with a stream of its own, on which its operations run one after
// the other.
//
//   OMNIBAL_ASSIGN(auto channel, Channel::open(hosts, device));
//   ncclAllReduce(data, data, count, ncclFloat, ncclSum, channel->nccl(), channel->stream());
//   OMNIBAL_ASSIGN(const cudaEvent_t ended, channel->mark());
//
// Not a group: NcclCommunicator has three of them.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <memory>

#include "omnibal/runtime/comm/communicator.h"

namespace omnibal::runtime {

/// The errors of the two libraries, with what was tried.
Status check(ncclResult_t result);
Status check(cudaError_t result, const char* what);

class Channel {
 public:
  /// Collective over `hosts`. Polls while NCCL connects.
  static Result<std::unique_ptr<Channel>> open(Communicator& hosts, int device);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  ncclComm_t nccl() const { return nccl_; }
  cudaStream_t stream() const { return stream_; }
  /// An event behind all that was started; the caller destroys it.
  Result<cudaEvent_t> mark() const;
  /// NCCL's own error, found while operations run.
  Status health() const;
  /// Polls until what was started last is on the stream.
  Status settle(ncclResult_t result) const;

 private:
  Channel() = default;
  Status connect(Communicator& hosts);

  ncclComm_t nccl_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

}  // namespace omnibal::runtime
