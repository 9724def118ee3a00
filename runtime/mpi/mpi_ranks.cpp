// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/mpi/mpi_ranks.h"

#include <fmt/format.h>

#include <cstdlib>
#include <numeric>

#include "comm/group_communicator.h"
#include "mpi/engine.h"
#include "omnibal/runtime/comm/thread_ranks.h"

namespace omnibal::runtime {
namespace {

// A tag of MPI holds the group's context, whether it is a collective's, and the message's tag or
// the collective's number: groups need no communicator of MPI, whose making blocks.
constexpr int kNumberBits = 22;
constexpr int kContexts = 1 << 8;
static_assert(kLargestTag == (1 << kNumberBits) - 1);

int mpi_tag(int context, bool collective, std::int64_t number) {
  const int within = static_cast<int>(number & kLargestTag);
  return (context << (kNumberBits + 1)) | ((collective ? 1 : 0) << kNumberBits) | within;
}

class MpiCommunicator : public GroupCommunicator {
 public:
  /// `next_context`: of this rank, shared by its communicators.
  MpiCommunicator(std::shared_ptr<EngineThread> thread, std::shared_ptr<int> next_context,
                  Group group)
      : GroupCommunicator(std::move(group)),
        thread_(std::move(thread)),
        next_context_(std::move(next_context)) {}

  Request send(const void* data, std::size_t bytes, int to, int tag) override {
    auto* read_only = static_cast<std::byte*>(const_cast<void*>(data));
    return exchange({Transfer::Direction::kSend, read_only, bytes, to}, "send", tag);
  }

  Request receive(void* data, std::size_t bytes, int from, int tag) override {
    auto* into = static_cast<std::byte*>(data);
    return exchange({Transfer::Direction::kReceive, into, bytes, from}, "receive", tag);
  }

  Result<std::unique_ptr<Communicator>> split(int color, int key, std::string name) override {
    OMNIBAL_ASSIGN(const SplitGroup split, split_group(*this, color, key, *next_context_));
    const int context = static_cast<int>(split.largest_note);
    if (context >= kContexts) {
      return Error(ErrorCode::kOutOfRange, "too many groups").with_limit(std::int64_t{kContexts});
    }
    *next_context_ = context + 1;
    return std::unique_ptr<Communicator>(std::make_unique<MpiCommunicator>(
        thread_, next_context_, subgroup(group(), split, context, std::move(name))));
  }

 protected:
  Request meet(const Collective& call, std::int64_t sequence, std::string text) override {
    return submit(collective_rounds(call, rank(), size()), std::move(text),
                  mpi_tag(group().context, true, sequence));
  }

 private:
  Request exchange(const Transfer& transfer, const char* verb, int tag) {
    return submit({Round{{transfer}, {}}}, fmt::format("{} {} of {}", verb, tag, name()),
                  mpi_tag(group().context, false, tag));
  }

  Request submit(std::vector<Round> rounds, std::string text, int tag) {
    auto operation = std::make_shared<MpiOperation>(group().state, std::move(text),
                                                    std::move(rounds), group().members, tag);
    thread_->engine()->submit(operation);
    return Request(operation);
  }

  std::shared_ptr<EngineThread> thread_;
  std::shared_ptr<int> next_context_;
};

}  // namespace

bool started_by_mpi() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"}) {
    if (std::getenv(variable) != nullptr) return true;
  }
  return false;
}

Result<std::unique_ptr<Communicator>> start_mpi() {
  if (!started_by_mpi()) return std::move(make_thread_world(1).front());
  OMNIBAL_ASSIGN(const std::shared_ptr<EngineThread> thread, EngineThread::start());
  const std::shared_ptr<Engine>& engine = thread->engine();
  Group world{std::make_shared<RankState>(RankState{engine, engine->rank(), {}}),
              1,  // 0 is the failure channel's
              engine->rank(), std::vector<int>(static_cast<std::size_t>(engine->size())), "world"};
  std::iota(world.members.begin(), world.members.end(), 0);
  return std::unique_ptr<Communicator>(
      std::make_unique<MpiCommunicator>(thread, std::make_shared<int>(2), std::move(world)));
}

}  // namespace omnibal::runtime
