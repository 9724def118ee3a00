// SPDX-License-Identifier: Apache-2.0
#include "omnibal/steps/row_order.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "omnibal/base/name_table.h"

namespace omnibal::steps {
namespace {

constexpr std::array kRowOrders = {Named{RowOrder::kAsDealt, "as-dealt"},
                                   Named{RowOrder::kLightEnds, "light-ends"}};

}  // namespace

std::string_view to_string(RowOrder order) { return name_in(kRowOrders, order); }

Result<RowOrder> parse_row_order(std::string_view name) {
  return parse_name(kRowOrders, "order of micro-batches", "row_order", name);
}

std::vector<std::int32_t> light_ends(std::span<const double> seconds) {
  std::vector<std::int32_t> by_seconds(seconds.size());
  std::iota(by_seconds.begin(), by_seconds.end(), 0);
  std::ranges::stable_sort(by_seconds, {},
                           [&](std::int32_t i) { return seconds[static_cast<std::size_t>(i)]; });
  std::vector<std::int32_t> order(seconds.size());
  auto front = order.begin();
  auto back = order.end();
  for (std::size_t i = 0; i < by_seconds.size(); ++i) {
    if (i % 2 == 0) {
      *front++ = by_seconds[i];
    } else {
      *--back = by_seconds[i];
    }
  }
  return order;
}

void put_light_ends_outside(std::span<std::int64_t> packs, std::int64_t dp,
                            std::span<const metrics::PackLoad> loads,
                            const cost::LinearCost& forward) {
  const auto width = static_cast<std::size_t>(dp);
  const auto zero_weight = std::ranges::find(packs, kZeroWeightPack) - packs.begin();
  const std::size_t rows = static_cast<std::size_t>(zero_weight) / width;
  std::vector<double> seconds(rows, 0.0);
  for (std::size_t i = 0; i < rows * width; ++i) {
    seconds[i / width] += forward.at(metrics::to_load(loads[static_cast<std::size_t>(packs[i])]));
  }
  const std::vector<std::int64_t> dealt(packs.begin(), packs.end());
  const std::vector<std::int32_t> order = light_ends(seconds);
  for (std::size_t m = 0; m < rows; ++m) {
    std::copy_n(dealt.begin() + order[m] * dp, width,
                packs.begin() + static_cast<std::ptrdiff_t>(m * width));
  }
}

}  // namespace omnibal::steps
