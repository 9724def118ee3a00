// SPDX-License-Identifier: Apache-2.0
//
// Engine: the helper thread of a rank. It alone calls MPI: starts operations in the order in which
// they are submitted, tests their messages, does their arithmetic and ends them. It sleeps between
// tests, so that more ranks than cores do not slow each other.
//
//   OMNIBAL_ASSIGN(const std::shared_ptr<Engine> engine, Engine::start());
//   engine->submit(operation);   // of the compute thread
//   engine->rank();
//
// Not restartable: MPI starts once a process. After a failure MPI is not finalized: the process is
// to end with an exit code other than 0, at which mpirun ends the others.
#pragma once

#include <mpi.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/operation.h"
#include "mpi/rounds.h"

namespace omnibal::runtime {

/// Rounds whose transfers' peers are world ranks.
class MpiOperation : public Operation {
 public:
  MpiOperation(std::shared_ptr<RankState> rank, std::string text, std::vector<Round> rounds,
               int tag)
      : Operation(std::move(rank), std::move(text)), rounds_(std::move(rounds)), tag_(tag) {}

 protected:
  std::vector<int> missing() const override;

 private:
  friend class Engine;
  struct Pending {
    MPI_Request request;
    Transfer transfer;
  };

  void set_pending(std::vector<Pending> pending);

  std::vector<Round> rounds_;
  std::size_t next_round_ = 0;
  int tag_;
  mutable std::mutex mutex_;  // of pending_: status texts are made in other threads
  std::vector<Pending> pending_;
};

class Engine : public World {
 public:
  static Result<std::shared_ptr<Engine>> start();
  ~Engine() override;

  int rank() const { return rank_; }
  int size() const { return size_; }
  void submit(std::shared_ptr<MpiOperation> operation);

  std::optional<Error> failure() override;
  void fail(const Error& error) override;

 private:
  Engine() = default;

  Status initialize();
  void run();
  void listen_for_failures();
  bool take_submitted();
  bool progress();
  bool advance(MpiOperation& operation);
  bool start_round(MpiOperation& operation);
  bool start_transfer(const MpiOperation& operation, const Transfer& transfer,
                      std::vector<MpiOperation::Pending>& pending);
  bool test(MpiOperation& operation);
  void hear_failure();
  void tell_failure();
  void stop_for(const std::string& what, int code, const MpiOperation& operation);
  void finalize();
  void rest(bool progressed);

  int rank_ = 0;
  int size_ = 1;
  std::thread thread_;

  std::mutex mutex_;
  std::condition_variable submitted_;
  std::deque<std::shared_ptr<MpiOperation>> queue_;
  std::optional<Error> failure_;  // first one told to this rank
  bool told_ = false;             // the helper has stopped: no buffer is touched any more
  bool stopping_ = false;

  // Of the helper thread alone.
  std::vector<std::shared_ptr<MpiOperation>> active_;
  std::vector<char> failure_text_;
  MPI_Request failure_message_ = MPI_REQUEST_NULL;
  int rests_without_progress_ = 0;
};

}  // namespace omnibal::runtime
