// SPDX-License-Identifier: Apache-2.0
#include "comm/split_groups.h"

#include <algorithm>
#include <array>
#include <utility>

namespace omnibal::runtime {

Result<SplitGroup> split_group(Communicator& parent, int color, int key, std::int64_t note) {
  using Wish = std::array<std::int64_t, 3>;  // color, key, note
  const Wish mine = {color, key, note};
  std::vector<Wish> wishes(static_cast<std::size_t>(parent.size()));
  OMNIBAL_RETURN_IF_ERROR(parent.all_gather(&mine, wishes.data(), sizeof(Wish)).wait());
  SplitGroup group;
  for (int r = 0; r < parent.size(); ++r) {
    const Wish& wish = wishes[static_cast<std::size_t>(r)];
    group.largest_note = std::max(group.largest_note, wish[2]);
    if (wish[0] == color) group.members.push_back(r);
  }
  std::ranges::stable_sort(group.members, {},
                           [&](int r) { return wishes[static_cast<std::size_t>(r)][1]; });
  const auto found = std::ranges::find(group.members, parent.rank());
  group.rank = static_cast<int>(found - group.members.begin());
  return group;
}

}  // namespace omnibal::runtime
