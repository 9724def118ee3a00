// SPDX-License-Identifier: Apache-2.0
//
// simdjson's on-demand parser looks only at what is asked for; here a value that nobody needs is
// walked through, so that malformed text never passes. Private to the room.
#pragma once

#include <simdjson.h>

#include <string_view>

namespace omnibal::corpus {

/// `token` without the white space behind it.
std::string_view trim_token(std::string_view token);

/// Whether `token` is a number of JSON's grammar: no leading zero or plus, digits on both sides of
/// the point.
bool is_json_number(std::string_view token);

/// Success, or the first error in `value` and all that is inside of it. Recursion is as deep as the
/// text is nested.
simdjson::error_code check_value(simdjson::ondemand::value value);

}  // namespace omnibal::corpus
