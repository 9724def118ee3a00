// SPDX-License-Identifier: Apache-2.0
//
// Memory over time: what every pipeline rank holds while a schedule runs with a load of its own in
// every micro-batch.
//
//   const std::vector<int64_t> peaks = peak_bytes(schedule, profile, cuts, recompute, loads);
//   memory_of_ranks(schedule, profile, cuts, recompute, loads)[rank][action].during_bytes;
//
// With equal loads and a stage a rank it is the formula of docs/formats.md: static + in_flight x
// kept + transient. Not for deciding what recomputes: room recompute.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "omnibal/cost/profile.h"
#include "omnibal/partition/partition.h"
#include "omnibal/recompute/bar.h"
#include "omnibal/schedule/schedule.h"

namespace omnibal::simulate {

/// What a rank holds because of one compute action, its fixed bytes and the transient included.
struct ActionMemory {
  std::int64_t during_bytes = 0;  // most while it runs
  std::int64_t after_bytes = 0;   // from its end to the next action
};

/// By rank, an entry a compute action in the order of its list. A micro-batch's kept bytes come
/// with its forward; while a forward or backward of a stage runs, the largest activation among its
/// recomputed layers comes on top. A whole backward releases everything. A split one releases what
/// frozen layers kept, and of a layer that recomputes it leaves the whole activation behind: its
/// weight gradient needs it, and releases the rest. `recompute` empty: no layer recomputes.
/// O(micro-batches x layers + actions).
std::vector<std::vector<ActionMemory>> memory_of_ranks(const schedule::Schedule& schedule,
                                                       const cost::Profile& profile,
                                                       const partition::Cuts& cuts,
                                                       const recompute::RecomputeMask& recompute,
                                                       std::span<const cost::Load> loads);

/// Peak bytes of every stage, as if its rank ran no other. With equal loads and whole backwards:
/// static + in_flight x kept + transient.
std::vector<std::int64_t> peak_bytes_of_stages(const schedule::Schedule& schedule,
                                               const cost::Profile& profile,
                                               const partition::Cuts& cuts,
                                               const recompute::RecomputeMask& recompute,
                                               std::span<const cost::Load> loads);

/// Peak bytes of every rank.
std::vector<std::int64_t> peak_bytes(const schedule::Schedule& schedule,
                                     const cost::Profile& profile, const partition::Cuts& cuts,
                                     const recompute::RecomputeMask& recompute,
                                     std::span<const cost::Load> loads);

}  // namespace omnibal::simulate
