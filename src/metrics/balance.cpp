// SPDX-License-Identifier: Apache-2.0
#include "omnibal/metrics/balance.h"

#include <algorithm>
#include <vector>

namespace omnibal::metrics {
namespace {

double ratio_or_zero(double part, double whole) { return whole > 0 ? part / whole : 0; }

/// sum(T_max - T_i) / (T_max * N) of one row; exactly 0 where all are equal.
double imbalance_of_row(std::span<const std::int64_t> row, std::span<const double> load) {
  const auto load_of = [load](std::int64_t pack) { return load[static_cast<std::size_t>(pack)]; };
  double largest = 0;
  for (const std::int64_t pack : row) largest = std::max(largest, load_of(pack));
  double missing = 0;
  for (const std::int64_t pack : row) missing += largest - load_of(pack);
  return ratio_or_zero(missing, largest * static_cast<double>(row.size()));
}

}  // namespace

double padded_pad_ratio(const GroupView& groups, std::span<const std::uint32_t> tokens) {
  std::int64_t used = 0;
  std::int64_t padded = 0;
  for (std::int64_t g = 0; g < groups.size(); ++g) {
    std::int64_t longest = 0;
    for (const std::uint32_t i : groups[g]) {
      used += tokens[i];
      longest = std::max(longest, std::int64_t{tokens[i]});
    }
    padded += longest * static_cast<std::int64_t>(groups[g].size());
  }
  return ratio_or_zero(static_cast<double>(padded - used), static_cast<double>(padded));
}

double packed_pad_ratio(std::span<const PackLoad> loads, std::int64_t token_multiple) {
  std::int64_t used = 0;
  std::int64_t padded = 0;
  for (const PackLoad& load : loads) {
    used += load.tokens;
    padded += (load.tokens + token_multiple - 1) / token_multiple * token_multiple;
  }
  return ratio_or_zero(static_cast<double>(padded - used), static_cast<double>(padded));
}

double dist_ratio(const RankGrid& grid, std::span<const double> load) {
  double sum = 0;
  std::int64_t counted = 0;
  for (std::int64_t r = 0; r < grid.rows(); ++r) {
    const auto row = grid.packs.subspan(static_cast<std::size_t>(r * grid.dp),
                                        static_cast<std::size_t>(grid.dp));
    if (std::any_of(row.begin(), row.end(), [](std::int64_t pack) { return pack < 0; })) continue;
    sum += imbalance_of_row(row, load);
    ++counted;
  }
  return ratio_or_zero(sum, static_cast<double>(counted));
}

std::int64_t count_vision_idle_rows(const RankGrid& grid, std::span<const PackLoad> loads) {
  std::int64_t idle_rows = 0;
  for (std::int64_t r = 0; r < grid.rows(); ++r) {
    bool runs = false;
    bool idles = false;
    for (std::int64_t i = r * grid.dp; i < (r + 1) * grid.dp; ++i) {
      const std::int64_t pack = grid.packs[static_cast<std::size_t>(i)];
      if (pack < 0) continue;
      (loads[static_cast<std::size_t>(pack)].vision_units > 0 ? runs : idles) = true;
    }
    idle_rows += runs && idles ? 1 : 0;
  }
  return idle_rows;
}

DistRatios dist_ratios(const RankGrid& grid, std::span<const PackLoad> loads,
                       const cost::LinearCost& forward) {
  std::vector<double> values(loads.size());
  const auto ratio_of = [&](const auto& value_of) {
    std::transform(loads.begin(), loads.end(), values.begin(), value_of);
    return dist_ratio(grid, values);
  };
  DistRatios ratios;
  ratios.vision = ratio_of([](const PackLoad& l) { return static_cast<double>(l.vision_units); });
  ratios.tokens = ratio_of([](const PackLoad& l) { return static_cast<double>(l.tokens); });
  ratios.attention = ratio_of([](const PackLoad& l) { return static_cast<double>(l.token_pairs); });
  ratios.time = ratio_of([&forward](const PackLoad& l) { return forward.at(to_load(l)); });
  return ratios;
}

}  // namespace omnibal::metrics
