// SPDX-License-Identifier: Apache-2.0
//
// Quantities as people write and read them, with a unit.
//
//   OMNIBAL_ASSIGN(const int64_t limit, parse_bytes("70GB"));   // 70'000'000'000
//   format_bytes(limit);       // "70 GB"
//   format_seconds(0.0123);    // "12.3 ms"
//   counted(2, "rank");        // "2 ranks"
//
// Not for files and JSON: those hold plain numbers, whose keys name the unit.
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

/// "1 rank", "2 ranks", "3 micro-batches".
std::string counted(std::int64_t count, std::string_view one);

}  // namespace omnibal
