// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "omnibal/plan/size_search.h"

namespace omnibal::plan {
namespace {

/// 1, 2, 3, 4, 6, 8, 12, ... times `unit`, up to `most`.
void add_times(std::int64_t unit, std::int64_t most, std::vector<std::int64_t>& counts) {
  for (std::int64_t times = 1; times * unit <= most; times *= 2) {
    counts.push_back(times * unit);
    if (times > 1 && times * 3 / 2 * unit <= most) counts.push_back(times * 3 / 2 * unit);
  }
}

/// Whole nodes, powers of two of fewer devices, and what given sizes multiply to; ascending, those
/// alone that have sizes.
std::vector<std::int64_t> counts_up_to(std::int64_t most, const SizeTask& task) {
  const std::int64_t node = task.cluster.devices_per_node;
  std::vector<std::int64_t> counts;
  for (std::int64_t count = 1; count < node && count <= most; count *= 2) counts.push_back(count);
  add_times(node, most, counts);
  const SizeQuestion& asked = task.asked;
  const std::int64_t given = asked.tp.value_or(1) * asked.pp.value_or(1) * asked.dp.value_or(1);
  if (given > 1) add_times(given, most, counts);
  std::ranges::sort(counts);
  const auto repeated = std::ranges::unique(counts);
  counts.erase(repeated.begin(), repeated.end());
  SizeTask with_count = task;
  std::erase_if(counts, [&](std::int64_t count) {
    with_count.asked.gpus = count;
    return !has_sizes(with_count);
  });
  return counts;
}

Error never_enough(const SizeChoice& most, double hours) {
  return Error(ErrorCode::kTooSlow,
               fmt::format("with {} GPUs an epoch takes {:.3g} h", most.gpus, most.hours()))
      .at_key("--hours")
      .with_value(fmt::format("{}", hours))
      .with_hint("raise --gpus, the most that may be used, or --hours");
}

}  // namespace

Result<std::vector<SizeChoice>> fewest_gpus(const SizeTask& task, double hours,
                                            std::int64_t most_gpus, const Progress& progress) {
  const std::vector<std::int64_t> counts = counts_up_to(most_gpus, task);
  SizeTask with_count = task;
  const auto choose = [&](std::int64_t count) {
    with_count.asked.gpus = count;
    return choose_sizes(with_count, progress);
  };
  std::vector<SizeChoice> looked_at;
  OMNIBAL_ASSIGN(const SizeChoice largest, choose(counts.empty() ? most_gpus : counts.back()));
  if (largest.hours() > hours) return never_enough(largest, hours);
  looked_at.push_back(largest);
  // More devices take less time and hold more: halving meets the border.
  std::size_t too_few = 0;
  std::size_t enough = counts.size() - 1;
  while (too_few < enough) {
    const std::size_t middle = (too_few + enough) / 2;
    Result<SizeChoice> choice = choose(counts[middle]);
    const bool in_time =
        choice && choice->hours() <= hours && choice->best().rejected <= largest.best().rejected;
    if (choice) {
      looked_at.push_back(*std::move(choice));
    } else {
      looked_at.push_back({.gpus = counts[middle],
                           .ranked = {},
                           .refused = {},
                           .nothing_fits = std::move(choice).error().message});
    }
    if (in_time) {
      enough = middle;
    } else {
      too_few = middle + 1;
    }
  }
  std::ranges::sort(looked_at, {}, &SizeChoice::gpus);
  return looked_at;
}

}  // namespace omnibal::plan
