// SPDX-License-Identifier: Apache-2.0
//
// Where a process id means something.
//
//   if (process_space() == written_by) kill(pid, 0);   // asks about that very process
//
// Not a secret, and no name of a host.
#pragma once

#include <string>

namespace omnibal::codec {

/// Twelve characters that differ between hosts, and between containers of a host that number their
/// processes on their own.
std::string process_space();

}  // namespace omnibal::codec
