// SPDX-License-Identifier: Apache-2.0
//
// Lines about single samples, as plans and streams list them. Private to the room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "omnibal/codec/json.h"

namespace omnibal::plan {

/// A line of JSON: `source` and `row` of a sample, then `more`. A name that is no UTF-8 is written
/// as plan.json writes it: with replacement characters.
std::string sample_line(std::string_view source, std::int64_t row, const codec::Json& more);

/// Of a rejected sample: pack::Rejection or pack::StreamRejection.
template <class Rejection>
std::string rejection_line(std::string_view source, std::int64_t row, const Rejection& rejection) {
  return sample_line(
      source, row,
      {{"reason", rejection.reason}, {"value", rejection.value}, {"limit", rejection.limit}});
}

}  // namespace omnibal::plan
