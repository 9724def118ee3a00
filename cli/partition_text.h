// SPDX-License-Identifier: Apache-2.0
//
// A partition for people: its stages and ranks, the step, the certificate.
#pragma once

#include <cstdint>
#include <string>

#include "omnibal/plan/model_balance.h"

namespace omnibal::cli {

/// What was asked, by name.
struct PartitionQuestion {
  std::string method;
  std::string schedule;
  std::int64_t micro_batches = 1;
};

std::string to_text(const plan::ModelBalance& balance, const PartitionQuestion& asked);

}  // namespace omnibal::cli
