// SPDX-License-Identifier: Apache-2.0
//
// Layouts beside a plan, as people read them.
#pragma once

#include <string>

#include "omnibal/plan/layout.h"

namespace omnibal::cli {

/// A line a layout, best first, with what it loses to; then those that cannot run.
std::string to_text(const plan::LayoutComparison& layouts);

}  // namespace omnibal::cli
