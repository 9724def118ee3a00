// SPDX-License-Identifier: Apache-2.0
//
// simdjson's on-demand parser looks only at what is asked for; here a value that nobody needs is
// walked through, so that malformed text never passes. Private to the room.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string_view>
#include <vector>

namespace omnibal::corpus {

/// `token` without the white space behind it.
std::string_view trim_token(std::string_view token);

/// Whether `token` is a number of JSON's grammar: no leading zero or plus, digits on both sides of
/// the point.
bool is_json_number(std::string_view token);

/// Finds a key that stands twice in one object, however objects are nested: keys are kept from the
/// beginning of an object to its end. O(n log n): an object may have any number of keys.
class DuplicateKeys {
 public:
  void reset() { keys_.clear(), duplicate_.reset(); }
  /// To be given to end_object.
  std::size_t begin_object() const { return keys_.size(); }
  void add(std::string_view key) { keys_.push_back(key); }
  void end_object(std::size_t begin);
  /// The first that was found.
  std::optional<std::string_view> duplicate() const { return duplicate_; }

 private:
  std::vector<std::string_view> keys_;  // of all objects that have not ended
  std::optional<std::string_view> duplicate_;
};

/// Success, or the first error in `value` and all that is inside of it; a key that stands twice is
/// left to `keys`. Recursion is as deep as the text is nested.
simdjson::error_code check_value(simdjson::ondemand::value value, DuplicateKeys& keys);

}  // namespace omnibal::corpus
