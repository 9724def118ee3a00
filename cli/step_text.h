// SPDX-License-Identifier: Apache-2.0
//
// A simulated step for people and as JSON: where the time goes, what every rank does and holds.
#pragma once

#include <string>

#include "omnibal/codec/json.h"
#include "omnibal/schedule/schedule.h"
#include "omnibal/simulate/step_report.h"

namespace omnibal::cli {

codec::Json to_json(const simulate::StepReport& report, const schedule::Schedule& schedule);
std::string to_text(const simulate::StepReport& report, const schedule::Schedule& schedule);

}  // namespace omnibal::cli
