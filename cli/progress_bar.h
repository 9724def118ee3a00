// SPDX-License-Identifier: Apache-2.0
//
// A progress bar on stderr for work over a second, if stderr is a terminal.
#pragma once

#include "omnibal/base/progress.h"

namespace omnibal::cli {

/// A callback that draws nothing in the first second and at most ten times a second afterwards,
/// and never if stderr is no terminal; `verbose`: also a line for every phase with its seconds.
/// Empty if `quiet`.
Progress make_progress_bar(bool quiet, bool verbose);

/// Clears what a bar drew last.
void clear_progress_bar();

}  // namespace omnibal::cli
