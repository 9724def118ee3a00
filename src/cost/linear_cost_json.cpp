// SPDX-License-Identifier: Apache-2.0
#include "omnibal/cost/linear_cost_json.h"

#include "cost/profile_keys.h"

namespace omnibal::cost {

codec::Json to_json(const LinearCost& cost) {
  codec::Json json = codec::Json::object();
  for (const TermKey& term : kTermKeys) json[std::string(term.name)] = cost.*term.member;
  return json;
}

Result<LinearCost> read_linear_cost(const codec::JsonFields& fields, double most) {
  LinearCost cost;
  for (const TermKey& term : kTermKeys) {
    OMNIBAL_ASSIGN(cost.*term.member, fields.number(term.name, 0, most));
  }
  return cost;
}

}  // namespace omnibal::cost
