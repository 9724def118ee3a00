// SPDX-License-Identifier: Apache-2.0
#include "omnibal/cost/load_json.h"

namespace omnibal::cost {

Result<Load> read_load(const codec::JsonFields& fields) {
  OMNIBAL_RETURN_IF_ERROR(fields.only({"vision_units", "tokens", "token_pairs"}));
  Load load;
  OMNIBAL_ASSIGN(load.vision_units, fields.number("vision_units", 0, kLargestLoad.vision_units));
  OMNIBAL_ASSIGN(load.tokens, fields.number("tokens", 0, kLargestLoad.tokens));
  OMNIBAL_ASSIGN(load.token_pairs, fields.number("token_pairs", 0, kLargestLoad.token_pairs));
  return load;
}

}  // namespace omnibal::cost
