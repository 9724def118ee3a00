// SPDX-License-Identifier: Apache-2.0
//
// Lists of indices as people write them: "0-9,50".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "omnibal/base/result.h"

namespace omnibal::cli {

/// The indices of "0-9,50" in the order written, ranges with both ends; "" is no index. `flag` is
/// named in errors. Error: kInvalidArgument (no whole number, a range that falls, more than 10^6
/// indices).
Result<std::vector<std::int64_t>> parse_index_list(std::string_view text, const std::string& flag);

}  // namespace omnibal::cli
