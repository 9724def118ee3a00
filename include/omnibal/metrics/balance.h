// SPDX-License-Identifier: Apache-2.0
//
// Padding inside groups and imbalance between the ranks that run them at the same time: the two
// ratios of the paper's table 3, as pure functions over a result.
//
//   const RankGrid grid{table.pack_ids, table.dp};
//   const DistRatios dist = dist_ratios(grid, loads, cost::total_forward(profile));
//
// Not for choosing groups: what is reported is not what packers and step forming minimise.
#pragma once

#include <cstdint>
#include <span>

#include "omnibal/cost/profile.h"
#include "omnibal/metrics/loads.h"

namespace omnibal::metrics {

/// Total padding over total padded size of groups that are padded to their longest sample:
/// sum(t_max - t_i) / sum(t_max * B). 0 for no groups or lengths that are all 0. O(members).
double padded_pad_ratio(const GroupView& groups, std::span<const std::uint32_t> tokens);

/// The same for packs, whose only padding is the rounding of the whole pack up to a multiple of
/// `token_multiple` (context and sequence parallelism); 0 with multiple 1. O(packs).
double packed_pad_ratio(std::span<const PackLoad> loads, std::int64_t token_multiple);

/// Which pack each rank runs at one moment: rows of `dp` ids, a negative id is a zero-weight pack.
struct RankGrid {
  std::span<const std::int64_t> packs;  // [rows, dp]
  std::int64_t dp = 1;

  std::int64_t rows() const { return static_cast<std::int64_t>(packs.size()) / dp; }
};

/// Mean over the rows of sum(T_max - T_i) / (T_max * N). Rows with a zero-weight pack are left
/// out; a row whose load is 0 everywhere counts as 0; no row at all gives 0. `load` is indexed by
/// pack id. O(entries).
double dist_ratio(const RankGrid& grid, std::span<const double> load);

/// Rows in which some ranks run the vision tower and others do not: packs of 0 vision units beside
/// packs that have some. A zero-weight pack does as its row does. O(entries).
std::int64_t count_vision_idle_rows(const RankGrid& grid, std::span<const PackLoad> loads);

struct DistRatios {
  double vision = 0;
  double tokens = 0;
  double attention = 0;  // of token pairs: the sum of squared segment lengths
  double time = 0;       // of predicted forward seconds of all layers
};

/// dist_ratio of the four loads; `forward` turns a pack's load into seconds.
DistRatios dist_ratios(const RankGrid& grid, std::span<const PackLoad> loads,
                       const cost::LinearCost& forward);

}  // namespace omnibal::metrics
