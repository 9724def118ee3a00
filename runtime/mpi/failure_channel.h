// SPDX-License-Identifier: Apache-2.0
//
// FailureChannel: how a rank hears that another has failed while it waits for something else.
//
//   channel.listen();
//   if (auto error = channel.heard()) ...   // "rank 3: no such file"
//   channel.tell(error, rank, size);        // to all others; returns once the messages are gone
//
// Not for a rank that died: it tells nothing; mpirun and the watchdog see that.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>

#include "omnibal/base/error.h"

namespace omnibal::runtime {

class FailureChannel {
 public:
  void listen();
  /// The other's error, whole; its message says which rank.
  std::optional<Error> heard();
  void tell(const Error& error, int rank, int size);
  void close();

 private:
  std::string text_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace omnibal::runtime
