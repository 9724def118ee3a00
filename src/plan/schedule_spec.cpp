// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/schedule_spec.h"

#include <fmt/format.h>

namespace omnibal::plan {

codec::Json to_json(const ScheduleSpec& schedule) {
  return {{"kind", schedule::to_string(schedule.kind)}, {"chunks", schedule.chunks}};
}

std::string to_text(const ScheduleSpec& schedule) {
  const std::string_view kind = schedule::to_string(schedule.kind);
  if (schedule.kind != schedule::ScheduleKind::kInterleaved) return std::string(kind);
  return fmt::format("{} {}", kind, schedule.chunks);
}

}  // namespace omnibal::plan
