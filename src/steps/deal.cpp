// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "omnibal/steps/step_table.h"
#include "steps/tail.h"

namespace omnibal::steps {

Result<StepTable> deal_randomly(std::int64_t num_packs, const StepOptions& options) {
  OMNIBAL_ASSIGN(StepTable table, start_table(num_packs, options));
  std::vector<std::int64_t> order = shuffled_packs(num_packs, options);
  apply_tail(options.tail, order, table);
  fill_table(std::move(order), table);
  return table;
}

Result<StepTable> steps_from_grid(std::span<const std::int64_t> grid, std::int64_t num_packs,
                                  const StepOptions& options) {
  OMNIBAL_ASSIGN(StepTable table, start_table(num_packs, options));
  std::vector<std::int64_t> order(grid.begin(), grid.end());
  std::vector<bool> dealt(static_cast<std::size_t>(num_packs));
  for (const std::int64_t pack : grid) dealt[static_cast<std::size_t>(pack)] = true;
  for (std::int64_t pack = 0; pack < num_packs; ++pack) {
    if (!dealt[static_cast<std::size_t>(pack)]) order.push_back(pack);
  }
  apply_tail(options.tail, order, table);
  fill_table(std::move(order), table);
  return table;
}

}  // namespace omnibal::steps
