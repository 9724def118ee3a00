// SPDX-License-Identifier: Apache-2.0
//
// MpiOperation: rounds of messages under way between this process and others.
//
//   auto operation = std::make_shared<MpiOperation>(state, "barrier 3 of dp", rounds, members,
//   tag); OMNIBAL_ASSIGN(const MpiOperation::Step step, operation->advance());   // helper thread
//   only if (step == MpiOperation::Step::kLast) operation->end();
//
// Not started by its constructor: the helper thread starts it, so that it alone calls MPI.
#pragma once

#include <mpi.h>

#include <mutex>
#include <string>
#include <vector>

#include "comm/operation.h"
#include "mpi/rounds.h"

namespace omnibal::runtime {

class MpiOperation : public Operation {
 public:
  enum class Step { kNone, kSome, kLast };  // what has moved since the last call

  /// `members`: the world rank of each peer of the rounds.
  MpiOperation(std::shared_ptr<RankState> rank, std::string text, std::vector<Round> rounds,
               const std::vector<int>& members, int tag);

  /// Tests the messages of the round, ends it, starts the next. Errors: kPeerFailed (sizes
  /// differ), kInternal (MPI's own).
  Result<Step> advance();

 protected:
  std::vector<int> missing() const override;

 private:
  struct Piece {
    MPI_Request request;
    Transfer transfer;
  };

  Status start_round();
  Status start_transfer(const Transfer& transfer);
  Result<bool> test(Piece& piece);
  Result<std::size_t> drop_completed();

  std::vector<Round> rounds_;
  std::size_t num_started_ = 0;
  int tag_;
  mutable std::mutex mutex_;   // of pieces_, of which `text` tells in other threads
  std::vector<Piece> pieces_;  // of the round under way, not yet complete
};

}  // namespace omnibal::runtime
