// SPDX-License-Identifier: Apache-2.0
#include "comm/thread_world.h"

#include <fmt/format.h>

#include <cstring>

#include "comm/fold.h"

namespace omnibal::runtime {
namespace {

void copy(void* into, const void* from, std::size_t bytes) {
  if (bytes > 0 && into != from) std::memcpy(into, from, bytes);
}

std::byte* at(void* data, std::size_t offset) { return static_cast<std::byte*>(data) + offset; }

const std::byte* at(const void* data, std::size_t offset) {
  return static_cast<const std::byte*>(data) + offset;
}

std::vector<const void*> inputs(const std::vector<Collective>& calls, std::size_t offset) {
  std::vector<const void*> parts;
  for (const Collective& call : calls) parts.push_back(at(call.in, offset));
  return parts;
}

void all_reduce(const std::vector<Collective>& calls) {
  const Collective& first = calls.front();
  fold_in_rank_order(inputs(calls, 0), first.out, first.count, first.element, first.reduction);
  for (const Collective& call : calls) copy(call.out, first.out, first.bytes());
}

void reduce_scatter(const std::vector<Collective>& calls) {
  for (std::size_t r = 0; r < calls.size(); ++r) {
    const Collective& call = calls[r];
    fold_in_rank_order(inputs(calls, r * call.bytes()), call.out, call.count, call.element,
                       call.reduction);
  }
}

void all_gather(const std::vector<Collective>& calls) {
  for (const Collective& to : calls) {
    for (std::size_t r = 0; r < calls.size(); ++r) {
      copy(at(to.out, r * to.bytes()), calls[r].in, to.bytes());
    }
  }
}

void broadcast(const std::vector<Collective>& calls) {
  const Collective& root = calls[static_cast<std::size_t>(calls.front().root)];
  for (const Collective& call : calls) copy(call.out, root.in, root.bytes());
}

void perform(const std::vector<Collective>& calls) {
  switch (calls.front().kind) {
    case CollectiveKind::kAllReduce:
      return all_reduce(calls);
    case CollectiveKind::kReduceScatter:
      return reduce_scatter(calls);
    case CollectiveKind::kAllGather:
      return all_gather(calls);
    case CollectiveKind::kBroadcast:
      return broadcast(calls);
    case CollectiveKind::kBarrier:
      return;
  }
}

}  // namespace

std::optional<Error> ThreadWorld::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void ThreadWorld::fail(const Error& error) {
  const std::lock_guard lock(mutex_);
  fail_locked(error);
}

void ThreadWorld::fail_locked(const Error& error) {
  if (failure_) return;
  failure_ = error;
  messages_.clear();  // nobody comes any more; their operations hold this world
  meetings_.clear();
}

void ThreadWorld::send(const Route& route, Message message) {
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  auto& [senders, receivers] = messages_[route];
  senders.push_back(std::move(message));
  match(senders, receivers, route);
}

void ThreadWorld::receive(const Route& route, Message message) {
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  auto& [senders, receivers] = messages_[route];
  receivers.push_back(std::move(message));
  match(senders, receivers, route);
}

void ThreadWorld::match(std::deque<Message>& senders, std::deque<Message>& receivers,
                        const Route& route) {
  if (senders.empty() || receivers.empty()) return;
  const Message sent = std::move(senders.front());
  const Message received = std::move(receivers.front());
  senders.pop_front();
  receivers.pop_front();
  if (senders.empty() && receivers.empty()) messages_.erase(route);
  if (sent.bytes != received.bytes) {
    return fail_locked(Error(ErrorCode::kPeerFailed,
                             fmt::format("a message of {} bytes is received as one of {}: {}",
                                         sent.bytes, received.bytes, sent.operation->text())));
  }
  copy(received.into, sent.from, sent.bytes);
  sent.operation->end();
  received.operation->end();
}

void ThreadWorld::arrive(const Meeting& meeting, int rank, int num_ranks, const Collective& call,
                         std::shared_ptr<Operation> operation) {
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  Arrivals& arrivals = meetings_[meeting];
  arrivals.calls.resize(static_cast<std::size_t>(num_ranks));
  arrivals.operations.resize(static_cast<std::size_t>(num_ranks));
  arrivals.calls[static_cast<std::size_t>(rank)] = call;
  arrivals.operations[static_cast<std::size_t>(rank)] = std::move(operation);
  if (++arrivals.num_arrived == num_ranks) finish(arrivals, meeting);
}

void ThreadWorld::finish(Arrivals& arrivals, const Meeting& meeting) {
  const Arrivals all = std::move(arrivals);
  meetings_.erase(meeting);
  for (std::size_t r = 1; r < all.calls.size(); ++r) {
    if (const auto why = difference(all.calls[0], all.calls[r])) {
      return fail_locked(Error(ErrorCode::kPeerFailed,
                               fmt::format("ranks 0 and {} of a group disagree: {}", r, *why)));
    }
  }
  perform(all.calls);
  for (const auto& operation : all.operations) operation->end();
}

std::vector<int> ThreadWorld::absent(const Meeting& meeting) {
  const std::lock_guard lock(mutex_);
  std::vector<int> ranks;
  const auto found = meetings_.find(meeting);
  if (found == meetings_.end()) return ranks;
  for (std::size_t r = 0; r < found->second.operations.size(); ++r) {
    if (found->second.operations[r] == nullptr) ranks.push_back(static_cast<int>(r));
  }
  return ranks;
}

int ThreadWorld::context_of(const Meeting& meeting, int color) {
  const std::lock_guard lock(mutex_);
  const int next = static_cast<int>(contexts_.size()) + 1;
  return contexts_.emplace(std::tuple(meeting.context, meeting.sequence, color), next)
      .first->second;
}

}  // namespace omnibal::runtime
