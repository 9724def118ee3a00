// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/comm/thread_ranks.h"

#include <fmt/format.h>

#include <exception>
#include <thread>

#include "comm/group_communicator.h"
#include "comm/thread_world.h"

namespace omnibal::runtime {
namespace {

class Exchange : public Operation {
 public:
  Exchange(const Group& group, std::string text, int peer)
      : Operation(group.state, std::move(text)), peer_(peer) {}

 protected:
  std::vector<int> missing() const override { return {peer_}; }

 private:
  int peer_;
};

class Gathering : public Operation {
 public:
  Gathering(const Group& group, std::string text, std::shared_ptr<ThreadWorld> world,
            ThreadWorld::Meeting meeting)
      : Operation(group.state, std::move(text)),
        world_(std::move(world)),
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

class ThreadCommunicator : public GroupCommunicator {
 public:
  ThreadCommunicator(std::shared_ptr<ThreadWorld> world, Group group)
      : GroupCommunicator(std::move(group)), world_(std::move(world)) {}

  Request send(const void* data, std::size_t bytes, int to, int tag) override {
    auto exchange = exchange_with(to, fmt::format("send {} of {}", tag, name()));
    world_->send({group().context, rank(), to, tag}, {data, nullptr, bytes, exchange});
    return Request(exchange);
  }

  Request receive(void* data, std::size_t bytes, int from, int tag) override {
    auto exchange = exchange_with(from, fmt::format("receive {} of {}", tag, name()));
    world_->receive({group().context, from, rank(), tag}, {nullptr, data, bytes, exchange});
    return Request(exchange);
  }

  Result<std::unique_ptr<Communicator>> split(int color, int key, std::string name) override {
    const ThreadWorld::Meeting meeting{group().context, next_sequence()};
    OMNIBAL_ASSIGN(const SplitGroup split, split_group(*this, color, key));
    return std::unique_ptr<Communicator>(std::make_unique<ThreadCommunicator>(
        world_, subgroup(group(), split, world_->context_of(meeting, color), std::move(name))));
  }

 protected:
  Request meet(const Collective& call, std::int64_t sequence, std::string text) override {
    const ThreadWorld::Meeting meeting{group().context, sequence};
    auto gathering = std::make_shared<Gathering>(group(), std::move(text), world_, meeting);
    world_->arrive(meeting, rank(), size(), call, gathering);
    return Request(gathering);
  }

 private:
  std::shared_ptr<Operation> exchange_with(int peer, std::string text) const {
    return std::make_shared<Exchange>(group(), std::move(text), group().world_rank(peer));
  }

  std::shared_ptr<ThreadWorld> world_;
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
        std::make_unique<ThreadCommunicator>(world, Group{state, 0, r, members, "world"}));
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
