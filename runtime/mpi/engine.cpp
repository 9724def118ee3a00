// SPDX-License-Identifier: Apache-2.0
#include "mpi/engine.h"

#include <chrono>
#include <limits>

namespace omnibal::runtime {
namespace {

using std::chrono::microseconds;

constexpr microseconds kBusyRest{20};
constexpr microseconds kLongRest{100};   // hides a transfer behind computing at no cost
constexpr microseconds kIdleRest{2000};  // nothing under way: only failures may be heard
constexpr int kBusyRests = 20;

constexpr int kNeededTag = std::numeric_limits<int>::max();  // context, kind, number

}  // namespace

Result<std::shared_ptr<EngineThread>> EngineThread::start() {
  auto owner = std::make_shared<EngineThread>();
  std::promise<Status> initialized;
  std::future<Status> status = initialized.get_future();
  owner->thread_ = std::thread(
      [engine = owner->engine_](std::promise<Status> promise) { engine->run(std::move(promise)); },
      std::move(initialized));
  OMNIBAL_RETURN_IF_ERROR(status.get());
  return owner;
}

EngineThread::~EngineThread() {
  engine_->stop();
  thread_.join();
}

Status Engine::initialize() {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  if (provided < MPI_THREAD_FUNNELED) {
    return Error(ErrorCode::kInternal, "this MPI does not run beside threads");
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  const int* largest_tag = nullptr;
  int known = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest_tag, &known);
  if (known == 0 || *largest_tag < kNeededTag) {
    return Error(ErrorCode::kInternal, "this MPI has too few tags")
        .with_value(std::int64_t{known == 0 ? 0 : *largest_tag})
        .with_limit(std::int64_t{kNeededTag});
  }
  failures_.listen();
  return {};
}

void Engine::run(std::promise<Status> initialized) {
  const Status status = initialize();
  initialized.set_value(status);
  if (!status.ok()) return;
  serve();
  {
    const std::lock_guard lock(mutex_);
    served_ = true;
  }
  changed_.notify_all();
  if (failure()) return;
  failures_.close();
  MPI_Finalize();
}

void Engine::serve() {
  bool moved = false;
  while (rest(moved)) {
    if (const auto error = failures_.heard()) return publish(*error);
    auto advanced = advance_all();
    const std::optional<Error> error = advanced.ok() ? told() : advanced.error();
    if (error) {
      failures_.tell(*error, rank_, size_);
      return publish(*error);
    }
    moved = *advanced;
  }
}

bool Engine::rest(bool moved) {
  idle_rests_ = moved ? 0 : idle_rests_ + 1;
  const microseconds longest = active_.empty()            ? kIdleRest
                               : idle_rests_ < kBusyRests ? kBusyRest
                                                          : kLongRest;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, longest,
                    [&] { return !submitted_.empty() || told_ || (stopping_ && active_.empty()); });
  active_.insert(active_.end(), submitted_.begin(), submitted_.end());
  submitted_.clear();
  return told_ || !(stopping_ && active_.empty());
}

Result<bool> Engine::advance_all() {
  bool moved = false;
  std::vector<std::shared_ptr<MpiOperation>> left;
  for (auto& operation : active_) {
    OMNIBAL_ASSIGN(const MpiOperation::Step step, operation->advance());
    moved = moved || step != MpiOperation::Step::kNone;
    if (step == MpiOperation::Step::kLast) {
      operation->end();
    } else {
      left.push_back(std::move(operation));
    }
  }
  active_ = std::move(left);
  return moved;
}

void Engine::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
}

void Engine::submit(std::shared_ptr<MpiOperation> operation) {
  {
    const std::lock_guard lock(mutex_);
    submitted_.push_back(std::move(operation));
  }
  changed_.notify_all();
}

std::optional<Error> Engine::told() {
  const std::lock_guard lock(mutex_);
  return told_;
}

void Engine::publish(const Error& error) {
  const std::lock_guard lock(mutex_);
  failure_ = error;
}

std::optional<Error> Engine::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Engine::fail(const Error& error) {
  std::unique_lock lock(mutex_);
  if (!told_) told_ = error;
  changed_.notify_all();
  changed_.wait(lock, [&] { return served_; });
}

}  // namespace omnibal::runtime
