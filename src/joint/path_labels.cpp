// SPDX-License-Identifier: Apache-2.0
#include "joint/path_labels.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

namespace omnibal::joint {
namespace {

constexpr std::size_t kSortedAtOnce = 16;

/// By path; then what makes the order complete. An object, so that sorting has it inline.
constexpr auto kIsBefore = [](const PathLabel& a, const PathLabel& b) {
  if (a.tail.path != b.tail.path) return a.tail.path < b.tail.path;
  if (a.tail.work != b.tail.work) return a.tail.work < b.tail.work;
  return std::tie(a.squares, a.next, a.next_label) < std::tie(b.squares, b.next, b.next_label);
};

bool is_beaten(const PathLabel& label, std::span<const PathLabel> others) {
  return std::ranges::any_of(
      others, [&](const PathLabel& other) { return other.tail.is_no_worse(label.tail); });
}

/// Sorts the `count` first of them to the front.
void sort_first(std::span<PathLabel> labels, std::size_t count) {
  const auto end = labels.begin() + static_cast<std::ptrdiff_t>(count);
  if (count < labels.size()) std::ranges::nth_element(labels, end, kIsBefore);
  std::sort(labels.begin(), end, kIsBefore);
}

}  // namespace

bool keep_needed(std::vector<PathLabel>& labels, std::size_t count, std::size_t most) {
  std::vector<PathLabel> kept;
  std::span<PathLabel> rest = labels;
  while (!rest.empty()) {  // sorted a few at a time: most of the rest is beaten by them
    const std::size_t sorted = std::min(rest.size(), std::max(count, kSortedAtOnce));
    sort_first(rest, sorted);
    const std::size_t kept_before = kept.size();
    for (const PathLabel& label : rest.first(sorted)) {
      if (kept.size() >= count && is_beaten(label, kept)) continue;
      if (kept.size() == most) {
        labels = std::move(kept);
        return false;
      }
      kept.push_back(label);
    }
    rest = rest.subspan(sorted);
    const auto beaten = std::ranges::remove_if(rest, [&](const PathLabel& label) {
      return is_beaten(label, std::span(kept).subspan(kept_before));
    });
    rest = rest.first(rest.size() - beaten.size());
  }
  labels = std::move(kept);
  return true;
}

}  // namespace omnibal::joint
