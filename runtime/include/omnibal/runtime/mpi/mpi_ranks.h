// SPDX-License-Identifier: Apache-2.0
//
// Ranks as MPI processes, one compute thread each. A helper thread makes all MPI calls, so that
// messages progress while the compute thread computes.
//
//   OMNIBAL_ASSIGN(const std::unique_ptr<Communicator> world, start_mpi());
//   world->rank();
//   OMNIBAL_RETURN_IF_ERROR(world->barrier().wait());   // then drop it: MPI ends with the last one
//
// Not part of the library of comm/: link omnibal_runtime_mpi, which alone needs MPI.
#pragma once

#include <memory>

#include "omnibal/runtime/comm/communicator.h"

namespace omnibal::runtime {

/// Whether this process was started by mpirun (or a PMI launcher): else start_mpi makes a world
/// of one rank without MPI.
bool started_by_mpi();

/// Starts MPI; once a process, with MPI_COMM_WORLD as its ranks. MPI ends with the last
/// communicator. After a failure it does not end well: the process must exit with another code than
/// 0, at which mpirun ends the others. Errors: kInternal if MPI gives no thread support or too few
/// tags.
Result<std::unique_ptr<Communicator>> start_mpi();

}  // namespace omnibal::runtime
