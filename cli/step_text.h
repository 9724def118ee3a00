// SPDX-License-Identifier: Apache-2.0
//
// A simulated step for people and as JSON: where the time goes, what every rank does and holds.
#pragma once

#include <optional>
#include <string>

#include "omnibal/codec/json.h"
#include "omnibal/schedule/schedule.h"
#include "omnibal/simulate/step_report.h"

namespace omnibal::cli {

/// {useful_s, ...}.
codec::Json to_json(const simulate::Breakdown& breakdown);

/// Device-seconds by part. What of them the optimizer and the reduction take is left out where it
/// is not told apart.
struct BreakdownTable {
  simulate::Breakdown breakdown;
  double device_seconds = 0;
  std::optional<double> optimizer_s = std::nullopt;
  std::optional<double> reduction_s = std::nullopt;
};
std::string to_text(const BreakdownTable& table);

codec::Json to_json(const simulate::StepReport& report, const schedule::Schedule& schedule);
std::string to_text(const simulate::StepReport& report, const schedule::Schedule& schedule);

}  // namespace omnibal::cli
