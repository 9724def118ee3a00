// SPDX-License-Identifier: Apache-2.0
//
// Quantities that people write with a unit: "70GB", "80GiB".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "omnibal/base/result.h"

namespace omnibal {

/// Bytes of "70GB" (10^9), "70GiB" (2^30), "1.5MiB" or "1024"; units kB, MB, GB, TB, KiB, MiB,
/// GiB, TiB, B. Error: kInvalidArgument for anything else, negative or above 2^63 - 1.
Result<std::int64_t> parse_bytes(std::string_view text);

/// "74.6 GB": three significant digits, decimal units.
std::string format_bytes(std::int64_t bytes);

/// "1.35 s", "12.3 ms", "2 h 14 min".
std::string format_seconds(double seconds);

}  // namespace omnibal
