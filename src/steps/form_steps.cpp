// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "omnibal/base/philox.h"
#include "omnibal/steps/step_table.h"
#include "steps/alike_groups.h"
#include "steps/tail.h"

namespace omnibal::steps {
namespace {

using Ids = std::vector<std::int64_t>;
using IdSpan = std::span<std::int64_t>;

/// Stable sort by vision units: each class keeps the random order it came in.
Ids by_vision_class(const Ids& order, std::span<const metrics::PackLoad> loads) {
  struct Key {
    std::int64_t vision_units;
    std::size_t position;
    bool operator<(const Key& other) const {
      return vision_units != other.vision_units ? vision_units < other.vision_units
                                                : position < other.position;
    }
  };
  std::vector<Key> keys;
  keys.reserve(order.size());
  for (const std::int64_t pack : order) {
    keys.push_back({loads[static_cast<std::size_t>(pack)].vision_units, keys.size()});
  }
  std::sort(keys.begin(), keys.end());
  Ids sorted;
  sorted.reserve(order.size());
  for (const Key& key : keys) sorted.push_back(order[key.position]);
  return sorted;
}

LoadedPack with_load(std::int64_t pack, std::span<const metrics::PackLoad> loads) {
  const metrics::PackLoad& load = loads[static_cast<std::size_t>(pack)];
  return {{load.vision_units, load.tokens, load.token_pairs}, pack};
}

/// Makes packs in random order a sequence of groups. A window of `options.window` groups slides
/// over them: what it holds is grouped, the more alike half of the groups is final, the packs of
/// the other half wait in it for others like them.
void group_in_windows(IdSpan packs, std::span<const metrics::PackLoad> loads,
                      const StepOptions& options) {
  const auto dp = static_cast<std::size_t>(options.dp);
  const std::size_t groups = (packs.size() + dp - 1) / dp;
  const std::size_t width =
      options.window == 0 ? groups : std::min(groups, static_cast<std::size_t>(options.window));
  const std::size_t final_in_window = (width + 1) / 2 * dp;
  std::vector<LoadedPack> window;
  std::size_t next = 0;
  for (std::size_t done = 0; done < packs.size();) {
    while (window.size() < width * dp && next < packs.size()) {
      window.push_back(with_load(packs[next++], loads));
    }
    group_alike(window, dp);
    const bool last = next == packs.size();
    if (!last) most_alike_first(window, dp);
    const auto end =
        window.begin() + static_cast<std::ptrdiff_t>(last ? window.size() : final_in_window);
    for (auto pack = window.begin(); pack != end; ++pack) packs[done++] = pack->pack;
    window.erase(window.begin(), end);
  }
}

/// Turns packs sorted by class into groups: each class by itself, so that no group mixes vision
/// units, but for what the classes have beyond a multiple of `dp`, which comes last.
void group_classes(Ids& packs, std::span<const metrics::PackLoad> loads, const StepOptions& options,
                   PhiloxRng& rng) {
  const auto dp = static_cast<std::size_t>(options.dp);
  Ids left_over;
  std::size_t grouped = 0;
  for (std::size_t begin = 0, end = 0; begin < packs.size(); begin = end) {
    const auto vision = [&](std::size_t i) {
      return loads[static_cast<std::size_t>(packs[i])].vision_units;
    };
    for (end = begin + 1; end < packs.size() && vision(end) == vision(begin);) ++end;
    const std::size_t whole = (end - begin) / dp * dp;
    left_over.insert(left_over.end(), packs.begin() + static_cast<std::ptrdiff_t>(begin + whole),
                     packs.begin() + static_cast<std::ptrdiff_t>(end));
    std::copy_n(packs.begin() + static_cast<std::ptrdiff_t>(begin), whole,
                packs.begin() + static_cast<std::ptrdiff_t>(grouped));
    group_in_windows(IdSpan(packs).subspan(grouped, whole), loads, options);
    grouped += whole;
  }
  shuffle(IdSpan(left_over), rng);
  group_in_windows(left_over, loads, options);
  std::copy(left_over.begin(), left_over.end(),
            packs.begin() + static_cast<std::ptrdiff_t>(grouped));
}

/// Random order of the runs of `width` ids; order inside a run kept. The size is a multiple.
void shuffle_runs(IdSpan ids, std::size_t width, PhiloxRng& rng) {
  for (std::size_t i = ids.size() / width; i > 1; --i) {
    const std::size_t j = rng.below(static_cast<std::uint32_t>(i));
    if (j + 1 == i) continue;
    std::swap_ranges(ids.begin() + static_cast<std::ptrdiff_t>((i - 1) * width),
                     ids.begin() + static_cast<std::ptrdiff_t>(i * width),
                     ids.begin() + static_cast<std::ptrdiff_t>(j * width));
  }
}

/// Groups into random order, and the ranks inside each, so that no rank is always the lightest.
/// An incomplete last group stays last, its zero-weight packs on random ranks.
void deal_groups(Ids& order, std::size_t dp, PhiloxRng& rng) {
  const std::size_t complete = order.size() / dp * dp;
  order.resize((order.size() + dp - 1) / dp * dp, kZeroWeightPack);
  shuffle_runs(IdSpan(order).first(complete), dp, rng);
  for (std::size_t begin = 0; begin < order.size(); begin += dp) {
    shuffle(IdSpan(order).subspan(begin, dp), rng);
  }
}

}  // namespace

Result<StepTable> form_steps(std::span<const metrics::PackLoad> loads, const StepOptions& options) {
  OMNIBAL_ASSIGN(StepTable table, start_table(static_cast<std::int64_t>(loads.size()), options));
  Ids order = shuffled_packs(static_cast<std::int64_t>(loads.size()), options);
  apply_tail(options.tail, order, table);
  order = by_vision_class(order, loads);
  PhiloxRng rng(options.seed, RngStream::kStepOrder, options.epoch);
  group_classes(order, loads, options, rng);
  deal_groups(order, static_cast<std::size_t>(options.dp), rng);
  fill_table(std::move(order), table);
  return table;
}

}  // namespace omnibal::steps
