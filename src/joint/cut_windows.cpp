// SPDX-License-Identifier: Apache-2.0
#include "joint/cut_windows.h"

#include <algorithm>

namespace omnibal::joint {

CutWindows cut_windows(const CutGrid& grid, const StageTest& test) {
  const auto at = [](std::int32_t index) { return static_cast<std::size_t>(index); };
  std::vector<std::int32_t> latest{0};
  for (std::int32_t s = 0; s < grid.num_stages; ++s) {
    const std::int32_t begin = latest.back();
    latest.push_back(grid.last_allowed[at(
        latest_passing_end({s, begin, begin}, std::max(begin, grid.latest_end(s)), test))]);
  }
  std::vector<std::int32_t> earliest(at(grid.num_stages) + 1, grid.num_layers);
  for (std::int32_t s = grid.num_stages - 1; s >= 0; --s) {
    const std::int32_t end = earliest[at(s) + 1];
    earliest[at(s)] =
        grid.first_allowed[at(earliest_passing_begin({s, end, end}, std::min(s, end), test))];
  }
  CutWindows windows(at(grid.num_stages) + 1);
  if (latest.back() < grid.num_layers || earliest.front() > 0) return windows;
  for (std::int32_t s = 0; s <= grid.num_stages; ++s) {
    for (std::int32_t layer = earliest[at(s)]; layer <= latest[at(s)]; ++layer) {
      if (grid.allowed[at(layer)]) windows[at(s)].push_back(layer);
    }
  }
  return windows;
}

bool any_empty(const CutWindows& windows) {
  return std::ranges::any_of(windows, [](const auto& layers) { return layers.empty(); });
}

std::int64_t count_spans(const CutWindows& windows) {
  std::int64_t spans = 0;
  for (std::size_t s = 1; s < windows.size(); ++s) {
    spans += static_cast<std::int64_t>(windows[s - 1].size() * windows[s].size());
  }
  return spans;
}

}  // namespace omnibal::joint
