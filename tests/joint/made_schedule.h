// SPDX-License-Identifier: Apache-2.0
//
// Random schedules of any kind.
#pragma once

#include "omnibal/base/philox.h"
#include "omnibal/schedule/schedule.h"

namespace omnibal::joint {

/// Of 1 to `most_ranks` ranks and 1 to `most_micro_batches`.
inline schedule::Schedule random_schedule(PhiloxRng& rng, schedule::ScheduleKind kind,
                                          std::uint32_t most_ranks,
                                          std::uint32_t most_micro_batches,
                                          std::uint32_t most_chunks) {
  std::int32_t chunks = schedule::fewest_chunks(kind);
  if (kind == schedule::ScheduleKind::kInterleaved) {
    chunks += static_cast<std::int32_t>(rng.below(most_chunks - 1));
  }
  const auto ranks = static_cast<std::int32_t>(1 + rng.below(most_ranks));
  return *schedule::make_schedule(kind, ranks * chunks,
                                  static_cast<std::int32_t>(1 + rng.below(most_micro_batches)),
                                  {.chunks = chunks});
}

}  // namespace omnibal::joint
