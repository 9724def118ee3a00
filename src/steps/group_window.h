// SPDX-License-Identifier: Apache-2.0
//
// GroupWindow: packs that arrive without end and wait in regions of the loads (load_regions.h)
// until a group has met. Inside room steps only.
//
//   GroupWindow window(options, {});
//   window.push(pack, groups);      // groups of dp that have met are put behind `groups`
//
// Not for packs that are all there: group_in_windows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "omnibal/steps/stream.h"
#include "steps/load_regions.h"

namespace omnibal::steps {

class GroupWindow {
 public:
  /// `state` has at most window * dp packs waiting.
  GroupWindow(const StepOptions& options, GroupWindowState state);

  /// Amortised O(log window).
  void push(const ArrivedPack& pack, std::vector<ArrivedPack>& groups);

  std::size_t size() const { return num_waiting_; }
  GroupWindowState state() const;
  /// Empties the window; the packs in order of arrival.
  std::vector<ArrivedPack> take_all();

 private:
  struct Slot {
    GroupWindowState::Waiting waiting;
    std::int64_t arrival = -1;  // -1: free
  };

  std::size_t room() const { return slots_.size(); }
  std::vector<std::uint32_t> by_arrival() const;
  std::uint32_t fill_slot(const GroupWindowState::Waiting& waiting);
  ArrivedPack empty_slot(std::uint32_t slot);
  void build_regions();
  void redraw(std::vector<ArrivedPack>& groups);
  void release_those_that_waited(std::vector<ArrivedPack>& groups);
  void take_group(std::size_t region, std::vector<ArrivedPack>& groups);
  void remember(const metrics::PackLoad& load);

  StepOptions options_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> links_;
  std::optional<LoadRegions> regions_;
  std::size_t num_waiting_ = 0;
  std::int64_t arrivals_ = 0;
  std::int64_t arrived_since_ = 0;
  std::vector<metrics::PackLoad> drawn_from_;
  std::vector<metrics::PackLoad> recent_;  // a ring once it is full
  std::size_t oldest_recent_ = 0;
};

}  // namespace omnibal::steps
