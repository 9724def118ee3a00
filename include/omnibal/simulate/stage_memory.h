// SPDX-License-Identifier: Apache-2.0
//
// Memory over time: what every stage holds while a schedule runs with a load of its own in every
// micro-batch.
//
//   const std::vector<int64_t> peaks = peak_bytes(schedule, profile, cuts, recompute, loads);
//
// With equal loads it is the formula of docs/formats.md: static + in_flight x kept + transient.
// Not for deciding what recomputes: room recompute.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "omnibal/cost/profile.h"
#include "omnibal/partition/partition.h"
#include "omnibal/recompute/bar.h"
#include "omnibal/schedule/schedule.h"

namespace omnibal::simulate {

/// Peak bytes of every stage, by replaying the schedule: a micro-batch is kept from its forward to
/// the end of its backward; the largest activation among its recomputed layers comes on top while
/// it runs. `recompute` empty: no layer recomputes. O(micro-batches x layers + actions).
std::vector<std::int64_t> peak_bytes(const schedule::Schedule& schedule,
                                     const cost::Profile& profile, const partition::Cuts& cuts,
                                     const recompute::RecomputeMask& recompute,
                                     std::span<const cost::Load> loads);

}  // namespace omnibal::simulate
