// SPDX-License-Identifier: Apache-2.0
#include "omnibal/partition/partition.h"

#include <fmt/format.h>

namespace omnibal::partition {

Status check_stages(std::int64_t num_layers, std::int32_t num_stages) {
  if (num_stages < 1) {
    return Error(ErrorCode::kInvalidArgument, "a partition needs at least one stage")
        .with_value(std::int64_t{num_stages})
        .with_limit(std::int64_t{1});
  }
  if (num_stages > num_layers) {
    return Error(ErrorCode::kTooManyStages,
                 fmt::format("{} layers do not fill {} stages: a stage would be empty", num_layers,
                             num_stages))
        .with_value(std::int64_t{num_stages})
        .with_limit(num_layers)
        .with_hint(fmt::format("use at most {} stages", num_layers));
  }
  return {};
}

}  // namespace omnibal::partition
