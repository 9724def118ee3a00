// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "omnibal/base/result.h"

namespace omnibal::partition {

/// kInvalidArgument without stages, kTooManyStages if one would stay empty.
Status check_stages(std::int64_t num_layers, std::int32_t num_stages);

}  // namespace omnibal::partition
