// SPDX-License-Identifier: Apache-2.0
//
// What all ranks must know alike before they go on.
//
//   OMNIBAL_RETURN_IF_ERROR(agree(own, world, "the checkpoint"));   // all succeeded, or an error
//   OMNIBAL_ASSIGN(const std::string path, share_path(path, world));   // rank 0's
//
// Not for data: paths and outcomes alone.
#pragma once

#include <string>
#include <string_view>

#include "omnibal/runtime/comm/communicator.h"

namespace omnibal::runtime {

/// The error of this rank, or kPeerFailed: `what` failed on another.
Status agree(const Status& own, Communicator& world, std::string_view what);

/// Rank 0's path. Error: kOutOfRange (4096 bytes or more).
Result<std::string> share_path(const std::string& path, Communicator& world);

}  // namespace omnibal::runtime
