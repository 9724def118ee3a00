// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "omnibal/runtime/comm/thread_ranks.h"
#include "runtime/comm/ranks_under_test.h"

namespace omnibal::runtime {

void for_each_world(const std::function<Status(Communicator&)>& body) {
  for (const int num_ranks : {1, 2, 3, 4, 8}) {
    const Status status = run_thread_ranks(num_ranks, body);
    EXPECT_TRUE(status.ok()) << num_ranks << " ranks: " << to_text(status.error());
  }
}

bool can_run(int) { return true; }

Status run_ranks(int num_ranks, const std::function<Status(Communicator&)>& body) {
  return run_thread_ranks(num_ranks, body);
}

}  // namespace omnibal::runtime
