// SPDX-License-Identifier: Apache-2.0
//
// Operation: what a Request waits for; the backends end it. World: what all ranks share, which is
// whether one of them has failed.
//
//   class Exchange : public Operation { std::vector<int> missing() const override; };
//   exchange->end();                  // by whoever completes it, in any thread
//   Status status = exchange->wait(); // by the rank that started it
//
// Not how bytes move: thread_world.h, ../mpi.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "omnibal/runtime/comm/communicator.h"

namespace omnibal::runtime {

class World {
 public:
  virtual ~World() = default;
  /// The failure of whichever rank failed first. Once it is set, no operation touches a buffer.
  virtual std::optional<Error> failure() = 0;
  virtual void fail(const Error& error) = 0;
};

/// One rank's part in a world, shared by its communicators.
struct RankState {
  std::shared_ptr<World> world;
  int world_rank = 0;
  WaitLimits limits;
};

class Operation {
 public:
  /// `text`: what it is, "all_reduce 17 of dp".
  Operation(std::shared_ptr<RankState> rank, std::string text)
      : rank_(std::move(rank)), text_(std::move(text)) {}
  virtual ~Operation() = default;

  bool ended();
  void end();
  Status wait();
  std::string text();

 protected:
  /// World ranks that have not done their part yet.
  virtual std::vector<int> missing() const = 0;
  /// Asked in the rank's own thread where nothing calls `end` by itself.
  virtual void poll() {}
  virtual std::chrono::microseconds poll_interval() const { return std::chrono::milliseconds(5); }

 private:
  bool wait_a_moment();
  Status give_up(Error error);

  std::shared_ptr<RankState> rank_;
  std::string text_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
};

}  // namespace omnibal::runtime
