// SPDX-License-Identifier: Apache-2.0
#include "sample_line.h"

namespace omnibal::plan {

std::string sample_line(std::string_view source, std::int64_t row, const codec::Json& more) {
  codec::Json line = {{"source", source}, {"row", row}};
  line.update(more);
  return line.dump(-1, ' ', false, codec::Json::error_handler_t::replace) + "\n";
}

}  // namespace omnibal::plan
