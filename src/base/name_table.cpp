// SPDX-License-Identifier: Apache-2.0
#include "omnibal/base/name_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "omnibal/base/nearest_name.h"

namespace omnibal {

Error unknown_name(std::string_view what, std::string_view key, std::string_view typed,
                   std::span<const std::string> names) {
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("there is no {} \"{}\"; the nearest is \"{}\"", what, typed,
                           nearest_name(typed, names)))
      .at_key(std::string(key))
      .with_value(std::string(typed))
      .with_hint(fmt::format("use one of: {}", fmt::join(names, ", ")));
}

}  // namespace omnibal
