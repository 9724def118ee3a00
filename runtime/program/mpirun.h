// SPDX-License-Identifier: Apache-2.0
//
// Starts this program in several processes.
//
//   return run_under_mpirun(4, {"--config", "train.toml"});   // its exit code
//
// Not for several hosts: start mpirun with their names for that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "omnibal/base/result.h"

namespace omnibal::runtime {

/// Waits for mpirun and gives its exit code. A SIGTERM or SIGINT that comes meanwhile is handed on
/// as SIGUSR1: the training saves and ends well. Error: kInternal (mpirun does not start).
Result<int> run_under_mpirun(std::int64_t num_processes, const std::vector<std::string>& words);

}  // namespace omnibal::runtime
