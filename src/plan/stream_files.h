// SPDX-License-Identifier: Apache-2.0
//
// What reader and writer of a stream's state agree upon: the arrays and the hash over all of it.
// Private to the room.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "omnibal/codec/json.h"

namespace omnibal::plan {

/// One array of the state: int64, rows of `columns` values.
struct StreamArray {
  std::string_view file;
  std::int64_t columns = 1;
};

/// In the order in which they are hashed.
enum StreamArrayIndex : std::size_t { kSamples, kPacks, kPackSamples, kWaiting, kReady, kLastStep };
inline constexpr std::array kStreamArrays = {
    StreamArray{"samples.npy", 4},       // id, vision units, tokens, windows
    StreamArray{"packs.npy", 6},         // id, vision units, tokens, pairs, samples, has run
    StreamArray{"pack_samples.npy", 1},  // ids, pack after pack
    StreamArray{"waiting.npy", 2},       // pack id, groupings
    StreamArray{"ready.npy", 1},         // pack ids
    StreamArray{"last_step.npy", 1},     // pack ids
};

/// XXH128 over the document without its key `hash`, then the data of the arrays.
std::string hash_of_stream(codec::Json document,
                           std::span<const std::span<const std::int64_t>> arrays);

}  // namespace omnibal::plan
