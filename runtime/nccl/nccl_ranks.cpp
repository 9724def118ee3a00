// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/nccl/nccl_ranks.h"

#include <fmt/format.h>

#include "comm/group_communicator.h"
#include "nccl/channel.h"

namespace omnibal::runtime {
namespace {

ncclDataType_t type_of(Element element) {
  switch (element) {
    case Element::kF32:
      return ncclFloat32;
    case Element::kF64:
      return ncclFloat64;
    case Element::kBf16:
      return ncclBfloat16;
    case Element::kI64:
      return ncclInt64;
    case Element::kU8:
      return ncclUint8;
  }
  return ncclUint8;
}

/// The host's communicator hears of failures and tells of them.
class HostWorld : public World {
 public:
  explicit HostWorld(std::shared_ptr<Communicator> hosts) : hosts_(std::move(hosts)) {}
  std::optional<Error> failure() override {
    const std::lock_guard lock(mutex_);
    if (failure_) return failure_;
    if (Status status = hosts_->health(); !status.ok()) return std::move(status).error();
    return std::nullopt;
  }
  void fail(const Error& error) override {
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = error;
    }
    hosts_->fail(error);
  }

 private:
  std::shared_ptr<Communicator> hosts_;
  std::mutex mutex_;
  std::optional<Error> failure_;
};

/// Ended once the event that was recorded behind it has happened.
class DeviceOperation : public Operation {
 public:
  DeviceOperation(std::shared_ptr<RankState> rank, std::string text,
                  std::shared_ptr<Channel> channel, Status started)
      : Operation(rank, std::move(text)), rank_(std::move(rank)), channel_(std::move(channel)) {
    if (started.ok()) {
      auto event = channel_->mark();
      if (event.ok()) {
        event_ = *event;
        return;
      }
      started = std::move(event).error();
    }
    rank_->world->fail(started.error());
  }
  ~DeviceOperation() override {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }

 protected:
  std::vector<int> missing() const override { return {}; }  // NCCL does not tell
  std::chrono::microseconds poll_interval() const override { return std::chrono::microseconds(50); }
  void poll() override {
    if (event_ == nullptr) return;
    const cudaError_t state = cudaEventQuery(event_);
    if (state == cudaSuccess) return end();
    Status status = state == cudaErrorNotReady ? channel_->health() : check(state, "CUDA");
    if (!status.ok()) rank_->world->fail(status.error());
  }

 private:
  std::shared_ptr<RankState> rank_;
  std::shared_ptr<Channel> channel_;
  cudaEvent_t event_ = nullptr;
};

/// A channel for each direction of messages keeps a receive that waits from blocking the sends that
/// its own message depends on.
struct Channels {
  std::shared_ptr<Channel> collectives, upwards, downwards;
};

class NcclCommunicator : public GroupCommunicator {
 public:
  NcclCommunicator(std::shared_ptr<Communicator> hosts, int device, Channels channels, Group group)
      : GroupCommunicator(std::move(group)),
        hosts_(std::move(hosts)),
        device_(device),
        channels_(std::move(channels)) {}

  Request send(const void* data, std::size_t bytes, int to, int tag) override {
    const auto& channel = to > rank() ? channels_.upwards : channels_.downwards;
    return started(channel, fmt::format("send {} of {}", tag, name()),
                   ncclSend(data, bytes, ncclUint8, to, channel->nccl(), channel->stream()));
  }

  Request receive(void* data, std::size_t bytes, int from, int tag) override {
    const auto& channel = from < rank() ? channels_.upwards : channels_.downwards;
    return started(channel, fmt::format("receive {} of {}", tag, name()),
                   ncclRecv(data, bytes, ncclUint8, from, channel->nccl(), channel->stream()));
  }

  Result<std::unique_ptr<Communicator>> split(int color, int key, std::string name) override;

 protected:
  Request meet(const Collective& call, std::int64_t, std::string text) override {
    if (call.kind == CollectiveKind::kBarrier) return hosts_->barrier();
    return started(channels_.collectives, std::move(text), launch(call));
  }

 private:
  Request started(const std::shared_ptr<Channel>& channel, std::string text, ncclResult_t result) {
    return Request(std::make_shared<DeviceOperation>(group().state, std::move(text), channel,
                                                     channel->settle(result)));
  }

  ncclResult_t launch(const Collective& call) const;

  std::shared_ptr<Communicator> hosts_;
  int device_;
  Channels channels_;
};

ncclResult_t NcclCommunicator::launch(const Collective& call) const {
  const ncclComm_t nccl = channels_.collectives->nccl();
  const cudaStream_t stream = channels_.collectives->stream();
  const ncclRedOp_t fold = call.reduction == Reduction::kSum ? ncclSum : ncclMax;
  const ncclDataType_t type = type_of(call.element);
  switch (call.kind) {
    case CollectiveKind::kAllReduce:
      return ncclAllReduce(call.in, call.out, call.count, type, fold, nccl, stream);
    case CollectiveKind::kReduceScatter:
      return ncclReduceScatter(call.in, call.out, call.count, type, fold, nccl, stream);
    case CollectiveKind::kAllGather:
      return ncclAllGather(call.in, call.out, call.count, type, nccl, stream);
    case CollectiveKind::kBroadcast:
      return ncclBroadcast(call.in, call.out, call.count, type, call.root, nccl, stream);
    case CollectiveKind::kBarrier:
      break;  // the hosts' own
  }
  return ncclSuccess;
}

Result<Channels> open_channels(Communicator& hosts, int device) {
  Channels channels;
  for (auto* channel : {&channels.collectives, &channels.upwards, &channels.downwards}) {
    OMNIBAL_ASSIGN(*channel, Channel::open(hosts, device));
  }
  return channels;
}

Result<std::unique_ptr<Communicator>> NcclCommunicator::split(int color, int key,
                                                              std::string name) {
  OMNIBAL_ASSIGN(const SplitGroup split, split_group(*hosts_, color, key));
  OMNIBAL_ASSIGN(auto hosts, hosts_->split(color, key, name));
  OMNIBAL_ASSIGN(Channels channels, open_channels(*hosts, device_));
  return std::unique_ptr<Communicator>(
      std::make_unique<NcclCommunicator>(std::move(hosts), device_, std::move(channels),
                                         subgroup(group(), split, 0, std::move(name))));
}

}  // namespace

Result<std::unique_ptr<Communicator>> make_nccl(std::unique_ptr<Communicator> host_ranks,
                                                int device) {
  const std::shared_ptr<Communicator> hosts = std::move(host_ranks);
  OMNIBAL_ASSIGN(Channels channels, open_channels(*hosts, device));
  auto state =
      std::make_shared<RankState>(RankState{std::make_shared<HostWorld>(hosts), hosts->rank(), {}});
  Group group{std::move(state), 0, hosts->rank(), {}, hosts->name()};
  for (int r = 0; r < hosts->size(); ++r) group.members.push_back(r);
  return std::unique_ptr<Communicator>(
      std::make_unique<NcclCommunicator>(hosts, device, std::move(channels), std::move(group)));
}

}  // namespace omnibal::runtime
