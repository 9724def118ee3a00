// SPDX-License-Identifier: Apache-2.0
#include "steps/group_window.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "steps/alike_groups.h"

namespace omnibal::steps {
namespace {

/// Regions are drawn anew after so many windows of packs.
constexpr std::int64_t kWindowsADrawing = 8;
/// From so many windows of packs.
constexpr std::size_t kWindowsDrawnFrom = 4;
/// As for an epoch: a region holds half a group on average.
constexpr std::size_t kRegionsPerGroup = 2;

LoadedPack loaded(const metrics::PackLoad& load, std::size_t index) {
  return {{static_cast<float>(load.vision_units), static_cast<float>(load.tokens),
           static_cast<float>(load.token_pairs)},
          static_cast<std::uint32_t>(index)};
}

std::vector<LoadedPack> loaded(std::span<const metrics::PackLoad> loads) {
  std::vector<LoadedPack> packs;
  packs.reserve(loads.size());
  for (const metrics::PackLoad& load : loads) packs.push_back(loaded(load, packs.size()));
  return packs;
}

}  // namespace

GroupWindow::GroupWindow(const StepOptions& options, GroupWindowState state)
    : options_(options),
      slots_(static_cast<std::size_t>(options.window * options.dp)),
      links_(slots_.size()),
      arrived_since_(state.arrived_since),
      drawn_from_(std::move(state.drawn_from)),
      recent_(std::move(state.recent)) {
  free_.resize(slots_.size());
  std::iota(free_.rbegin(), free_.rend(), 0U);
  for (const GroupWindowState::Waiting& waiting : state.waiting) fill_slot(waiting);
  if (!drawn_from_.empty()) build_regions();
}

std::uint32_t GroupWindow::fill_slot(const GroupWindowState::Waiting& waiting) {
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  slots_[slot] = {waiting, arrivals_++};
  ++num_waiting_;
  return slot;
}

ArrivedPack GroupWindow::empty_slot(std::uint32_t slot) {
  slots_[slot].arrival = -1;
  free_.push_back(slot);
  --num_waiting_;
  return slots_[slot].waiting.pack;
}

std::vector<std::uint32_t> GroupWindow::by_arrival() const {
  std::vector<std::uint32_t> order;
  order.reserve(num_waiting_);
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot].arrival >= 0) order.push_back(slot);
  }
  std::sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
    return slots_[a].arrival < slots_[b].arrival;
  });
  return order;
}

/// Regions of drawn_from_ with what waits in them; none of them holds a group.
void GroupWindow::build_regions() {
  regions_.emplace(loaded(drawn_from_),
                   kRegionsPerGroup * static_cast<std::size_t>(options_.window),
                   static_cast<std::size_t>(options_.dp), AlikeRule{options_.forward, {}}, links_);
  for (const std::uint32_t slot : by_arrival()) {
    regions_->add(loaded(slots_[slot].waiting.pack.load, 0), slot);
  }
}

void GroupWindow::take_group(std::size_t region, std::vector<ArrivedPack>& groups) {
  std::vector<std::uint32_t> group(static_cast<std::size_t>(options_.dp));
  regions_->take(region, group);
  for (const std::uint32_t slot : group) groups.push_back(empty_slot(slot));
}

/// A pack that was there when the regions were drawn last has waited long enough: all that wait are
/// grouped, and the groups with such packs leave. The newest packs that fill no group stay outside.
void GroupWindow::release_those_that_waited(std::vector<ArrivedPack>& groups) {
  const auto dp = static_cast<std::size_t>(options_.dp);
  const std::vector<std::uint32_t> order = by_arrival();
  std::vector<LoadedPack> packs;
  for (const std::uint32_t slot : order) {
    packs.push_back(loaded(slots_[slot].waiting.pack.load, slot));
  }
  packs.resize(packs.size() / dp * dp);
  group_alike(packs, dp, AlikeRule{options_.forward, {}});
  for (std::size_t begin = 0; begin < packs.size(); begin += dp) {
    const auto group = std::span(packs).subspan(begin, dp);
    const bool leaves = std::any_of(group.begin(), group.end(), [this](const LoadedPack& pack) {
      return slots_[pack.pack].waiting.has_waited;
    });
    if (!leaves) continue;
    for (const LoadedPack& pack : group) groups.push_back(empty_slot(pack.pack));
  }
}

void GroupWindow::redraw(std::vector<ArrivedPack>& groups) {
  release_those_that_waited(groups);
  std::rotate(recent_.begin(), recent_.begin() + static_cast<std::ptrdiff_t>(oldest_recent_),
              recent_.end());
  oldest_recent_ = 0;
  drawn_from_ = recent_;
  arrived_since_ = 0;
  regions_.emplace(loaded(drawn_from_),
                   kRegionsPerGroup * static_cast<std::size_t>(options_.window),
                   static_cast<std::size_t>(options_.dp), AlikeRule{options_.forward, {}}, links_);
  for (const std::uint32_t slot : by_arrival()) {
    slots_[slot].waiting.has_waited = true;
    const auto region = regions_->add(loaded(slots_[slot].waiting.pack.load, 0), slot);
    if (region) take_group(*region, groups);
  }
}

void GroupWindow::remember(const metrics::PackLoad& load) {
  if (recent_.size() < kWindowsDrawnFrom * room()) {
    recent_.push_back(load);
  } else {
    recent_[oldest_recent_] = load;
    oldest_recent_ = (oldest_recent_ + 1) % recent_.size();
  }
}

void GroupWindow::push(const ArrivedPack& pack, std::vector<ArrivedPack>& groups) {
  const bool full = num_waiting_ == room();
  const bool due = arrived_since_ >= kWindowsADrawing * static_cast<std::int64_t>(room()) &&
                   num_waiting_ >= static_cast<std::size_t>(options_.dp);
  // Not before a pack more is there: a stream of just a window is formed as a whole epoch is.
  if ((full && !regions_) || (due && regions_)) redraw(groups);
  if (num_waiting_ == room()) take_group(regions_->fullest_region(), groups);
  ++arrived_since_;
  remember(pack.load);
  const std::uint32_t slot = fill_slot({pack, false});
  if (!regions_) return;
  if (const auto region = regions_->add(loaded(pack.load, 0), slot)) take_group(*region, groups);
}

GroupWindowState GroupWindow::state() const {
  GroupWindowState state;
  for (const std::uint32_t slot : by_arrival()) state.waiting.push_back(slots_[slot].waiting);
  state.drawn_from = drawn_from_;
  state.recent = recent_;
  std::rotate(state.recent.begin(),
              state.recent.begin() + static_cast<std::ptrdiff_t>(oldest_recent_),
              state.recent.end());
  state.arrived_since = arrived_since_;
  return state;
}

std::vector<ArrivedPack> GroupWindow::take_all() {
  std::vector<ArrivedPack> packs;
  for (const std::uint32_t slot : by_arrival()) packs.push_back(empty_slot(slot));
  regions_.reset();
  drawn_from_.clear();
  recent_.clear();
  oldest_recent_ = 0;
  return packs;
}

}  // namespace omnibal::steps
