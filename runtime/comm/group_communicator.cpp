// SPDX-License-Identifier: Apache-2.0
#include "comm/group_communicator.h"

#include <fmt/format.h>

namespace omnibal::runtime {

Group subgroup(const Group& parent, const SplitGroup& split, int context, std::string name) {
  Group group{parent.state, context, split.rank, {}, std::move(name)};
  for (const int member : split.members) group.members.push_back(parent.world_rank(member));
  return group;
}

Request GroupCommunicator::start(const Collective& call) {
  const std::int64_t sequence = sequence_++;
  return meet(call, sequence,
              fmt::format("{} {} of {}", name_of(call.kind), sequence, group_.name));
}

Request GroupCommunicator::all_reduce(void* data, std::size_t count, Element element,
                                      Reduction reduction) {
  return start({CollectiveKind::kAllReduce, data, data, count, element, reduction});
}

Request GroupCommunicator::reduce_scatter(const void* all, void* part, std::size_t count_each,
                                          Element element, Reduction reduction) {
  return start({CollectiveKind::kReduceScatter, all, part, count_each, element, reduction});
}

Request GroupCommunicator::all_gather(const void* part, void* all, std::size_t bytes_each) {
  return start({CollectiveKind::kAllGather, part, all, bytes_each});
}

Request GroupCommunicator::broadcast(void* data, std::size_t bytes, int root) {
  Collective call{CollectiveKind::kBroadcast, data, data, bytes};
  call.root = root;
  return start(call);
}

Request GroupCommunicator::barrier() { return start({}); }

void GroupCommunicator::limit_waits(WaitLimits limits) { group_.state->limits = std::move(limits); }

void GroupCommunicator::fail(const Error& error) { group_.state->world->fail(error); }

Status GroupCommunicator::health() const {
  if (auto failure = group_.state->world->failure()) return *std::move(failure);
  return {};
}

}  // namespace omnibal::runtime
