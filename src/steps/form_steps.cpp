// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "omnibal/base/philox.h"
#include "omnibal/steps/step_table.h"
#include "steps/tail.h"
#include "steps/vision_classes.h"
#include "steps/window_groups.h"

namespace omnibal::steps {
namespace {

PackIds ids_of(std::span<const LoadedPack> packs) {
  PackIds ids;
  for (const LoadedPack& pack : packs) ids.push_back(pack.pack);
  return ids;
}

/// Groups each class by itself, so that no group mixes vision units, and what the classes have
/// beyond a multiple of dp together, packs without vision units apart.
FormedGroups group_classes(VisionClasses& classes, const LoadedPack& typical,
                           const StepOptions& options) {
  const GroupShape shape{static_cast<std::size_t>(options.dp),
                         static_cast<std::size_t>(options.window)};
  const AlikeRule rule{.forward = options.forward, .weights = {}};
  FormedGroups groups;
  groups.complete.reserve(classes.packs.size());
  std::vector<LoadedPack> mixed;
  std::size_t begin = 0;
  for (const std::size_t end : classes.ends) {
    const auto packs = std::span(classes.packs).subspan(begin, end - begin);
    const std::size_t beyond = packs.size() % shape.size;
    most_typical_last(packs, beyond, typical, rule);
    const auto left = packs.last(beyond);
    if (begin == 0 && classes.first_is_idle) {
      groups.idle = ids_of(left);
    } else {
      mixed.insert(mixed.end(), left.begin(), left.end());
    }
    group_in_windows(packs.first(packs.size() - beyond), shape, rule, groups.complete);
    begin = end;
  }
  least_matching_last(mixed, shape.size);
  const std::size_t rest = mixed.size() % shape.size;
  groups.rest = ids_of(std::span(mixed).last(rest));
  group_in_windows(std::span(mixed).first(mixed.size() - rest), shape, rule, groups.complete);
  return groups;
}

/// Random order of the rows of `width` ids; order inside a row kept.
void shuffle_rows(std::span<std::int64_t> ids, std::size_t width, PhiloxRng& rng) {
  for (std::size_t i = ids.size() / width; i > 1; --i) {
    const std::size_t j = rng.below(static_cast<std::uint32_t>(i));
    if (j + 1 == i) continue;
    std::swap_ranges(ids.begin() + static_cast<std::ptrdiff_t>((i - 1) * width),
                     ids.begin() + static_cast<std::ptrdiff_t>(i * width),
                     ids.begin() + static_cast<std::ptrdiff_t>(j * width));
  }
}

/// Groups into random order. With packs left out or repeated the last one stays: it lends packs to
/// the incomplete group beside it.
void shuffle_groups(FormedGroups& groups, const StepOptions& options, PhiloxRng& rng) {
  const auto dp = static_cast<std::size_t>(options.dp);
  auto rows = std::span(groups.complete);
  if (options.tail != Tail::kZeroWeight && rows.size() >= dp) rows = rows.first(rows.size() - dp);
  shuffle_rows(rows, dp, rng);
}

}  // namespace

Result<StepTable> form_steps(std::span<const metrics::PackLoad> loads, const StepOptions& options) {
  const auto num_packs = static_cast<std::int64_t>(loads.size());
  OMNIBAL_ASSIGN(StepTable table, start_table(num_packs, options));
  FormedGroups groups;
  {
    const std::vector<std::uint32_t> order = shuffled_packs(num_packs, options);
    VisionClasses classes = classify(order, loads);
    groups = group_classes(classes, typical_pack(order, loads), options);
  }
  close_groups(groups, options);
  PhiloxRng rng(options.seed, RngStream::kStepOrder);
  shuffle_groups(groups, options, rng);
  put_first(groups, options);
  lay_out(std::move(groups), options.tail, table);
  // Ranks too, so that none is always the lightest.
  for (std::size_t row = 0; row < table.pack_ids.size();
       row += static_cast<std::size_t>(table.dp)) {
    shuffle(std::span(table.pack_ids).subspan(row, static_cast<std::size_t>(table.dp)), rng);
  }
  return table;
}

}  // namespace omnibal::steps
