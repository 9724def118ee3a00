// SPDX-License-Identifier: Apache-2.0
#include "comm/operation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace omnibal::runtime {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

bool Operation::ended() {
  poll();
  const std::lock_guard lock(mutex_);
  return ended_;
}

void Operation::end() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
}

std::string Operation::text() {
  const std::vector<int> ranks = ended() ? std::vector<int>() : missing();
  if (ranks.empty()) return text_;
  return fmt::format("{}, missing rank{} {}", text_, ranks.size() > 1 ? "s" : "",
                     fmt::join(ranks, " "));
}

bool Operation::wait_a_moment() {
  if (ended()) return true;
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, poll_interval(), [&] { return ended_; });
}

// The other ranks can no longer rely on this one, and it may free its buffers.
Status Operation::give_up(Error error) {
  rank_->world->fail(error);
  return error;
}

Status Operation::wait() {
  const Clock::time_point start = Clock::now();
  const WaitLimits& limits = rank_->limits;
  while (!wait_a_moment()) {
    if (auto failure = rank_->world->failure()) return *std::move(failure);
    if (limits.interruption) {
      if (Status status = limits.interruption(); !status.ok()) {
        return give_up(std::move(status).error());
      }
    }
    if (limits.longest.count() > 0 && Clock::now() - start > limits.longest) {
      return give_up(Error(ErrorCode::kWaitTooLong,
                           fmt::format("rank {} waits for {}", rank_->world_rank, text()))
                         .with_limit(fmt::format(
                             "{} s", std::chrono::duration<double>(limits.longest).count())));
    }
  }
  return {};
}

bool Request::done() const { return operation_ == nullptr || operation_->ended(); }

Status Request::wait() { return operation_ == nullptr ? Status() : operation_->wait(); }

std::string Request::text() const { return operation_ == nullptr ? "" : operation_->text(); }

}  // namespace omnibal::runtime
