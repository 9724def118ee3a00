// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "omnibal/steps/step_table.h"
#include "steps/tail.h"

namespace omnibal::steps {
namespace {

/// A table of `order`, row by row.
StepTable in_rows(PackIds order, const StepOptions& options, StepTable table) {
  const auto dp = static_cast<std::size_t>(table.dp);
  FormedGroups groups;
  const auto behind = order.begin() + static_cast<std::ptrdiff_t>(order.size() / dp * dp);
  groups.rest.assign(behind, order.end());
  order.erase(behind, order.end());
  groups.complete = std::move(order);
  put_first(groups, options);
  lay_out(std::move(groups), options.tail, table);
  return table;
}

}  // namespace

Result<StepTable> deal_randomly(std::int64_t num_packs, const StepOptions& options) {
  OMNIBAL_ASSIGN(StepTable table, start_table(num_packs, options));
  const std::vector<std::uint32_t> order = shuffled_packs(num_packs, options);
  return in_rows({order.begin(), order.end()}, options, std::move(table));
}

Result<StepTable> steps_from_grid(std::span<const std::int64_t> grid, std::int64_t num_packs,
                                  const StepOptions& options) {
  OMNIBAL_ASSIGN(StepTable table, start_table(num_packs, options));
  PackIds order(grid.begin(), grid.end());
  std::vector<bool> dealt(static_cast<std::size_t>(num_packs));
  for (const std::int64_t pack : grid) dealt[static_cast<std::size_t>(pack)] = true;
  for (std::int64_t pack = 0; pack < num_packs; ++pack) {
    if (!dealt[static_cast<std::size_t>(pack)]) order.push_back(pack);
  }
  return in_rows(std::move(order), options, std::move(table));
}

}  // namespace omnibal::steps
