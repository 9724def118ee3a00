// SPDX-License-Identifier: Apache-2.0
//
// A kind of schedule and how many stages a rank then runs.
//
//   const ScheduleSpec zero_bubble{schedule::ScheduleKind::kZbV, 2};
//   to_json(zero_bubble);       // {"kind": "zb-v", "chunks": 2}
//   to_text(zero_bubble);       // "zb-v"; of interleaved ones "interleaved 4"
//
// Not the action lists: make_schedule (schedule/schedule.h) makes them.
#pragma once

#include <cstdint>
#include <string>

#include "omnibal/codec/json.h"
#include "omnibal/schedule/schedule.h"

namespace omnibal::plan {

struct ScheduleSpec {
  schedule::ScheduleKind kind = schedule::ScheduleKind::kOneFOneB;
  std::int32_t chunks = 1;

  friend bool operator==(const ScheduleSpec&, const ScheduleSpec&) = default;
};

codec::Json to_json(const ScheduleSpec& schedule);
std::string to_text(const ScheduleSpec& schedule);

}  // namespace omnibal::plan
