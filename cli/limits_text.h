// SPDX-License-Identifier: Apache-2.0
//
// Why caps are as they are, for people.
#pragma once

#include <string>

#include "omnibal/plan/limit_search.h"

namespace omnibal::cli {

/// Four or five lines; the last names what gives way if memory is too small for some samples.
std::string to_text(const plan::LimitChoice& choice);

}  // namespace omnibal::cli
