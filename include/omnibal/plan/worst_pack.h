// SPDX-License-Identifier: Apache-2.0
//
// WorstPack: the pack whose micro-batch keeps most memory, and where it runs: a run that survives
// it survives the epoch.
//
//   const std::int64_t id = heaviest_pack(loads, activation_bytes_of(profile));
//   const WorstPack worst = worst_pack(id, loads, table, activation_bytes_of(profile));
//   document["worst_pack"] = to_json(worst);
//
// Not for the peak of a stage: that needs cuts, recomputation and micro-batches in flight
// (metrics/stages.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "omnibal/codec/json.h"
#include "omnibal/cost/profile.h"
#include "omnibal/metrics/loads.h"
#include "omnibal/steps/step_table.h"

namespace omnibal::plan {

/// Where in epoch 0 a pack runs for the first time.
struct PackPlace {
  std::int64_t step = 0;
  std::int64_t micro_batch = 0;
  std::int64_t rank = 0;
};

struct WorstPack {
  std::int64_t pack = 0;
  metrics::PackLoad load;
  std::int64_t activation_bytes = 0;  // of all layers, nothing recomputed
  std::optional<PackPlace> place;     // nothing: tail policy `drop` leaves it out
};

/// Bytes that all layers keep between forward and backward, nothing recomputed, as a function of
/// the load; frozen layers with nothing trainable before them keep none.
cost::LinearCost activation_bytes_of(const cost::Profile& profile);

/// The pack of most activation bytes, of equal ones the first; -1 for no packs. O(packs).
std::int64_t heaviest_pack(std::span<const metrics::PackLoad> loads,
                           const cost::LinearCost& activation_bytes);

/// `pack` is one of `loads`. O(entries).
WorstPack worst_pack(std::int64_t pack, std::span<const metrics::PackLoad> loads,
                     const steps::StepTable& table, const cost::LinearCost& activation_bytes);

/// {pack, vision_units, tokens, token_pairs, activation_bytes, step, micro_batch, rank}: the last
/// three null if it is left out.
codec::Json to_json(const WorstPack& worst);

}  // namespace omnibal::plan
