// SPDX-License-Identifier: Apache-2.0
//
// A linear cost as plans and streams write it: all four of its terms.
//
//   document["forward_s"] = to_json(forward);
//   OMNIBAL_ASSIGN(const LinearCost forward, read_linear_cost(JsonFields(object, file, path)));
//   forward.at(load);
//
// Not for profiles, which write a constant as a number and leave out terms of 0: profile.h.
#pragma once

#include "omnibal/codec/json.h"
#include "omnibal/cost/profile.h"

namespace omnibal::cost {

/// {constant, per_vision_unit, per_token, per_token_pair}.
codec::Json to_json(const LinearCost& cost);

/// None negative or above `most`. Errors: kMissingKey, kWrongType, kOutOfRange.
Result<LinearCost> read_linear_cost(const codec::JsonFields& fields, double most);

}  // namespace omnibal::cost
