// SPDX-License-Identifier: Apache-2.0
//
// Engine: what the helper thread of a rank does. It alone calls MPI: starts operations in the order
// in which they are submitted, advances and ends them. It sleeps between tests, so that more ranks
// than cores do not slow each other. EngineThread runs it.
//
//   OMNIBAL_ASSIGN(const std::shared_ptr<EngineThread> thread, EngineThread::start());
//   thread->engine()->submit(operation);   // of the compute thread
//   thread->engine()->rank();
//
// Not restartable: MPI starts once a process. After a failure MPI is not finalized: the process is
// to end with an exit code other than 0, at which mpirun ends the others.
#pragma once

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "mpi/failure_channel.h"
#include "mpi/mpi_operation.h"

namespace omnibal::runtime {

class Engine : public World {
 public:
  /// Of the helper thread: until `stop` and until all that was submitted is complete.
  void run(std::promise<Status> initialized);
  void stop();

  int rank() const { return rank_; }
  int size() const { return size_; }
  void submit(std::shared_ptr<MpiOperation> operation);

  std::optional<Error> failure() override;
  void fail(const Error& error) override;

 private:
  Status initialize();
  void serve();
  /// Waits for a moment; false once there is nothing left to do.
  bool rest(bool moved);
  /// Whether anything has moved. An error is one of this rank.
  Result<bool> advance_all();
  std::optional<Error> told();
  void publish(const Error& error);

  int rank_ = 0;
  int size_ = 1;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<MpiOperation>> submitted_;
  std::optional<Error> told_;     // by this rank's compute thread
  std::optional<Error> failure_;  // after which the helper calls MPI no more
  bool stopping_ = false;
  bool served_ = false;  // the helper touches no buffer any more

  // Of the helper thread alone.
  std::vector<std::shared_ptr<MpiOperation>> active_;
  FailureChannel failures_;
  int idle_rests_ = 0;
};

/// Owned by the communicators alone, not by operations, so that its destructor, which joins the
/// helper thread, never runs in it.
class EngineThread {
 public:
  static Result<std::shared_ptr<EngineThread>> start();
  ~EngineThread();

  const std::shared_ptr<Engine>& engine() const { return engine_; }

 private:
  std::shared_ptr<Engine> engine_ = std::make_shared<Engine>();
  std::thread thread_;
};

}  // namespace omnibal::runtime
