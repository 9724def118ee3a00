// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/comm/thread_ranks.h"

#include <fmt/format.h>

#include <exception>
#include <thread>

#include "comm/split_groups.h"
#include "comm/thread_world.h"

namespace omnibal::runtime {
namespace {

/// One rank's view of a group.
struct Group {
  std::shared_ptr<ThreadWorld> world;
  std::shared_ptr<RankState> state;
  int context = 0;
  int rank = 0;
  std::vector<int> members;  // world ranks, by rank in the group
  std::string name;

  int size() const { return static_cast<int>(members.size()); }
};

class Exchange : public Operation {
 public:
  Exchange(const Group& group, std::string text, int peer)
      : Operation(group.state, std::move(text)), peer_(peer) {}

 protected:
  std::vector<int> missing() const override {
    return ended() ? std::vector<int>() : std::vector{peer_};
  }

 private:
  int peer_;
};

class Gathering : public Operation {
 public:
  Gathering(const Group& group, std::string text, ThreadWorld::Meeting meeting)
      : Operation(group.state, std::move(text)),
        world_(group.world),
        members_(group.members),
        meeting_(meeting) {}

 protected:
  std::vector<int> missing() const override {
    std::vector<int> ranks = world_->absent(meeting_);
    for (int& rank : ranks) rank = members_[static_cast<std::size_t>(rank)];
    return ranks;
  }

 private:
  std::shared_ptr<ThreadWorld> world_;
  std::vector<int> members_;
  ThreadWorld::Meeting meeting_;
};

class ThreadCommunicator : public Communicator {
 public:
  explicit ThreadCommunicator(Group group) : group_(std::move(group)) {}

  int rank() const override { return group_.rank; }
  int size() const override { return group_.size(); }
  const std::string& name() const override { return group_.name; }

  Request send(const void* data, std::size_t bytes, int to, int tag) override {
    auto exchange = exchange_with(to, fmt::format("send {} of {}", tag, group_.name));
    group_.world->send({group_.context, group_.rank, to, tag}, {data, nullptr, bytes, exchange});
    return Request(exchange);
  }

  Request receive(void* data, std::size_t bytes, int from, int tag) override {
    auto exchange = exchange_with(from, fmt::format("receive {} of {}", tag, group_.name));
    group_.world->receive({group_.context, from, group_.rank, tag},
                          {nullptr, data, bytes, exchange});
    return Request(exchange);
  }

  Request all_reduce(void* data, std::size_t count, Element element, Reduction reduction) override {
    return meet({CollectiveKind::kAllReduce, data, data, count, element, reduction});
  }

  Request reduce_scatter(const void* all, void* part, std::size_t count_each, Element element,
                         Reduction reduction) override {
    return meet({CollectiveKind::kReduceScatter, all, part, count_each, element, reduction});
  }

  Request all_gather(const void* part, void* all, std::size_t bytes_each) override {
    return meet({CollectiveKind::kAllGather, part, all, bytes_each});
  }

  Request broadcast(void* data, std::size_t bytes, int root) override {
    Collective call{CollectiveKind::kBroadcast, data, data, bytes};
    call.root = root;
    return meet(call);
  }

  Request barrier() override { return meet({}); }

  Result<std::unique_ptr<Communicator>> split(int color, int key, std::string name) override {
    const ThreadWorld::Meeting meeting{group_.context, sequence_};
    OMNIBAL_ASSIGN(const SplitGroup split, split_group(*this, color, key));
    Group group = group_;
    group.context = group_.world->context_of(meeting, color);
    group.rank = split.rank;
    group.members.clear();
    for (const int member : split.members) {
      group.members.push_back(group_.members[static_cast<std::size_t>(member)]);
    }
    group.name = std::move(name);
    return std::unique_ptr<Communicator>(std::make_unique<ThreadCommunicator>(std::move(group)));
  }

  void limit_waits(WaitLimits limits) override { group_.state->limits = std::move(limits); }
  void fail(const Error& error) override { group_.world->fail(error); }

 private:
  std::shared_ptr<Operation> exchange_with(int peer, std::string text) const {
    return std::make_shared<Exchange>(group_, std::move(text),
                                      group_.members[static_cast<std::size_t>(peer)]);
  }

  Request meet(const Collective& call) {
    const ThreadWorld::Meeting meeting{group_.context, sequence_++};
    auto gathering = std::make_shared<Gathering>(
        group_, fmt::format("{} {} of {}", name_of(call.kind), meeting.sequence, group_.name),
        meeting);
    group_.world->arrive(meeting, group_.rank, group_.size(), call, gathering);
    return Request(gathering);
  }

  Group group_;
  std::int64_t sequence_ = 0;
};

Status run_guarded(Communicator& world, const std::function<Status(Communicator&)>& body) {
  try {
    return body(world);
  } catch (const std::exception& exception) {
    return Error(ErrorCode::kInternal, fmt::format("rank {}: {}", world.rank(), exception.what()));
  }
}

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_thread_world(int num_ranks) {
  auto world = std::make_shared<ThreadWorld>();
  std::vector<int> members;
  for (int r = 0; r < num_ranks; ++r) members.push_back(r);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int r = 0; r < num_ranks; ++r) {
    auto state = std::make_shared<RankState>(RankState{world, r, {}});
    communicators.push_back(
        std::make_unique<ThreadCommunicator>(Group{world, state, 0, r, members, "world"}));
  }
  return communicators;
}

Status run_thread_ranks(int num_ranks, const std::function<Status(Communicator&)>& body) {
  const auto communicators = make_thread_world(num_ranks);
  std::mutex mutex;
  Status first_failure;
  const auto run = [&](Communicator& world) {
    Status status = run_guarded(world, body);
    if (status.ok()) return;
    const std::lock_guard lock(mutex);
    if (!first_failure.ok()) return;
    world.fail(status.error());
    first_failure = std::move(status);
  };
  std::vector<std::thread> threads;
  for (const auto& world : communicators) threads.emplace_back(run, std::ref(*world));
  for (std::thread& thread : threads) thread.join();
  return first_failure;
}

}  // namespace omnibal::runtime
