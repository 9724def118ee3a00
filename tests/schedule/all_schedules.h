// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "omnibal/schedule/schedule.h"

namespace omnibal::schedule {

inline constexpr std::array kKinds = {ScheduleKind::kGPipe, ScheduleKind::kOneFOneB,
                                      ScheduleKind::kInterleaved, ScheduleKind::kZbH1,
                                      ScheduleKind::kZbV};

/// Every kind with 1 to 8 ranks, 1 to 24 micro-batches and 2 to 4 chunks where it has any.
template <class Visit>
void for_all_sizes(const Visit& visit) {
  for (const ScheduleKind kind : kKinds) {
    const std::int32_t fewest = fewest_chunks(kind);
    const std::int32_t most = kind == ScheduleKind::kInterleaved ? 4 : fewest;
    for (std::int32_t chunks = fewest; chunks <= most; ++chunks) {
      for (std::int32_t p = 1; p <= 8; ++p) {
        for (std::int32_t m = 1; m <= 24; ++m) {
          visit(*make_schedule(kind, p * chunks, m, {.chunks = chunks}), p, m, chunks);
        }
      }
    }
  }
}

}  // namespace omnibal::schedule
