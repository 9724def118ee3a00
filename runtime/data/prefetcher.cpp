// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/data/prefetcher.h"

#include <cassert>
#include <chrono>
#include <exception>
#include <string>

namespace omnibal::runtime {

Prefetcher::Prefetcher(const PackSource& source, std::size_t depth)
    : source_(source), depth_(depth), thread_([this] { run(); }) {}

Prefetcher::~Prefetcher() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Prefetcher::request(std::int64_t pack) {
  {
    const std::lock_guard lock(mutex_);
    requested_.push_back(pack);
  }
  changed_.notify_all();
}

std::size_t Prefetcher::num_pending() const {
  const std::lock_guard lock(mutex_);
  return requested_.size() + loaded_.size() + (loading_ ? 1 : 0);
}

Result<PackArrays> Prefetcher::next(const std::function<void()>& on_wait) {
  assert(num_pending() > 0);
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::seconds(1), [&] { return !loaded_.empty(); })) {
    if (on_wait) on_wait();
  }
  Result<PackArrays> pack = std::move(loaded_.front());
  loaded_.pop_front();
  lock.unlock();
  changed_.notify_all();
  return pack;
}

Result<PackArrays> Prefetcher::load(std::int64_t pack) const {
  try {
    return source_.load(pack);
  } catch (const std::exception& problem) {  // memory, of libraries that decode
    return Error(ErrorCode::kInternal,
                 std::string("a pack could not be loaded: ") + problem.what());
  }
}

void Prefetcher::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock,
                  [&] { return stopping_ || (!requested_.empty() && loaded_.size() < depth_); });
    if (stopping_) return;
    const std::int64_t pack = requested_.front();
    requested_.pop_front();
    loading_ = true;
    lock.unlock();
    Result<PackArrays> loaded = load(pack);
    lock.lock();
    loading_ = false;
    loaded_.push_back(std::move(loaded));
    changed_.notify_all();
  }
}

}  // namespace omnibal::runtime
