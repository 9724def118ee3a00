// SPDX-License-Identifier: Apache-2.0
//
// A load as files write it: in a profile the reference load, in loads.json one a micro-batch.
//
//   OMNIBAL_ASSIGN(const Json* object, fields.object("load"));
//   OMNIBAL_ASSIGN(const Load load, read_load(JsonFields(*object, file, "load")));
//   load.tokens;
//
// Not for pack_load.npy: room plan reads it.
#pragma once

#include "omnibal/codec/json.h"
#include "omnibal/cost/profile.h"

namespace omnibal::cost {

/// {"vision_units": 9, "tokens": 4096, "token_pairs": 5000000}: all three, nothing else, none
/// negative or above kLargestLoad's. Errors: kMissingKey, kUnknownKey, kWrongType, kOutOfRange.
Result<Load> read_load(const codec::JsonFields& fields);

}  // namespace omnibal::cost
