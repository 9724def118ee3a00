// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace omnibal::cost {

/// `text` with the words NaN, Infinity and -Infinity outside of strings replaced by null, so that
/// the checks can say which layer has them. O(size).
std::string not_a_number_as_null(std::string_view text);

}  // namespace omnibal::cost
