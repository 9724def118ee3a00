// SPDX-License-Identifier: Apache-2.0
#include "nccl/channel.h"

#include <fmt/format.h>

#include <thread>

namespace omnibal::runtime {

Status check(ncclResult_t result) {
  if (result == ncclSuccess || result == ncclInProgress) return {};
  return Error(ErrorCode::kInternal, fmt::format("NCCL: {}", ncclGetErrorString(result)));
}

Status check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return {};
  return Error(ErrorCode::kInternal, fmt::format("{}: {}", what, cudaGetErrorString(result)));
}

Result<std::unique_ptr<Channel>> Channel::open(Communicator& hosts, int device) {
  OMNIBAL_RETURN_IF_ERROR(check(cudaSetDevice(device), "cudaSetDevice"));
  std::unique_ptr<Channel> channel(new Channel);
  OMNIBAL_RETURN_IF_ERROR(
      check(cudaStreamCreateWithFlags(&channel->stream_, cudaStreamNonBlocking), "a stream"));
  OMNIBAL_RETURN_IF_ERROR(channel->connect(hosts));
  return channel;
}

Status Channel::connect(Communicator& hosts) {
  ncclUniqueId id = {};
  if (hosts.rank() == 0) OMNIBAL_RETURN_IF_ERROR(check(ncclGetUniqueId(&id)));
  OMNIBAL_RETURN_IF_ERROR(hosts.broadcast(&id, sizeof(id), 0).wait());
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  OMNIBAL_RETURN_IF_ERROR(
      settle(ncclCommInitRankConfig(&nccl_, hosts.size(), id, hosts.rank(), &config)));
  return hosts.barrier().wait();
}

Status Channel::settle(ncclResult_t result) const {
  while (result == ncclInProgress) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    OMNIBAL_RETURN_IF_ERROR(check(ncclCommGetAsyncError(nccl_, &result)));
  }
  return check(result);
}

Channel::~Channel() {
  // Also ends what a failed rank has left under way.
  if (nccl_ != nullptr) ncclCommAbort(nccl_);
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

Result<cudaEvent_t> Channel::mark() const {
  cudaEvent_t event = nullptr;
  OMNIBAL_RETURN_IF_ERROR(
      check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "an event"));
  OMNIBAL_RETURN_IF_ERROR(check(cudaEventRecord(event, stream_), "an event"));
  return event;
}

Status Channel::health() const {
  ncclResult_t state = ncclSuccess;
  OMNIBAL_RETURN_IF_ERROR(check(ncclCommGetAsyncError(nccl_, &state)));
  return check(state);
}

}  // namespace omnibal::runtime
