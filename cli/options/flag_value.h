// SPDX-License-Identifier: Apache-2.0
//
// Text to the value of a flag and back.
#pragma once

#include <string>
#include <vector>

#include "cli/options/flag.h"
#include "omnibal/base/result.h"

namespace omnibal::cli {

/// Stores what the user wrote (several words for a positional vector). Error: kInvalidArgument
/// naming the flag, the value and what is accepted.
Status set_flag(const Flag& flag, const std::vector<std::string>& words);

/// The value now in the target, as help shows it; empty if there is none.
std::string flag_value(const Flag& flag);

bool is_switch(const Flag& flag);      // takes no value
bool is_positional(const Flag& flag);  // stands without dashes
bool takes_many(const Flag& flag);     // a vector

}  // namespace omnibal::cli
