// SPDX-License-Identifier: Apache-2.0
//
// StatusBoard: where each rank of a training stands, in a small memory-mapped file a rank, and who
// of them has died or is stuck. A rank that waits for others looks at their files: no thread of its
// own is needed, and who waits is never taken for stuck.
//
//   OMNIBAL_ASSIGN(const auto board, StatusBoard::open("checkpoints/status", world, 20));
//   board->tell("step 12, pack 40, action 2F0");      // and: I am alive
//   world.limit_waits({.interruption = [board] { return board->look_around(); }});
//
// Not for ranks on other hosts whose files are not seen here: of these only waits tell.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "omnibal/runtime/comm/communicator.h"

namespace omnibal::runtime {

/// What a file holds. Written by its rank, read by all.
struct StatusRecord {
  char text[240];                        // first, so that `head -1` shows it; ends with a newline
  std::atomic<std::int64_t> heartbeat;   // counts
  std::atomic<std::int64_t> patience_s;  // how long the rank may be silent; 0: it has ended well
  std::int64_t process, thread;
  char space[16];  // in which `process` is one (codec/process_space.h)
};

class StatusBoard {
 public:
  /// Makes rank files in `directory`; `patience_s`: of a rank in a step. Collective over `world`.
  /// Errors: kWriteFailed.
  static Result<std::shared_ptr<StatusBoard>> open(const std::string& directory,
                                                   Communicator& world, std::int64_t patience_s);
  ~StatusBoard();
  StatusBoard(const StatusBoard&) = delete;
  StatusBoard& operator=(const StatusBoard&) = delete;

  /// What this rank does now.
  void tell(std::string_view what);
  /// The same of what may take minutes in which the rank neither computes nor waits: saving.
  void tell_patiently(std::string_view what);
  /// Nothing more comes; the rank's file goes.
  void end_well();
  /// What was told, with the rank: valid as long as the board, for signal handlers too.
  const char* text() const { return own_->text; }

  /// This rank is alive, if it does nothing else.
  void beat() { ++own_->heartbeat; }
  /// This rank is alive; once a second looks at the others of its host. Errors, with what the rank
  /// did last: kPeerFailed (its process is gone), kWaitTooLong (it has neither told anything nor
  /// computed for longer than its patience).
  Status look_around();

 private:
  /// What was last seen of a rank.
  struct Seen {
    const StatusRecord* record = nullptr;
    std::int64_t heartbeat = 0;
    std::int64_t ticks = 0;
    std::chrono::steady_clock::time_point changed = {};
  };

  StatusBoard(std::string directory, int rank, std::int64_t patience_s)
      : directory_(std::move(directory)), rank_(rank), patience_s_(patience_s) {}
  void write(std::string_view what, std::int64_t patience_s);
  Status look_at(int rank, Seen& seen);

  std::string directory_;
  int rank_;
  std::int64_t patience_s_;
  StatusRecord* own_ = nullptr;
  std::vector<Seen> seen_;  // by rank
  std::chrono::steady_clock::time_point looked_ = {};
};

}  // namespace omnibal::runtime
