// SPDX-License-Identifier: Apache-2.0
//
// StreamSteps: steps from packs that arrive without end, of which at most a window waits. Packs
// meet in regions of the loads as in form_steps; the regions are drawn anew from the packs that
// came last, now and then.
//
//   OMNIBAL_ASSIGN(StreamSteps steps, StreamSteps::create({.dp = 8, .micro_batches = 32}));
//   steps.push({.id = 0, .load = load});                     // for each pack
//   while (steps.has_step()) run(steps.take());              // [micro_batches, dp] pack ids
//   OMNIBAL_RETURN_IF_ERROR(steps.finish());                 // the rest becomes steps too
//
// Not for an epoch whose packs are all known: form_steps mixes the whole of it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "omnibal/metrics/loads.h"
#include "omnibal/steps/step_table.h"

namespace omnibal::steps {

/// `options.window` groups must be held at once: 0 and more than kLargestStep packs are
/// kInvalidArgument, as is what check_step_options refuses.
Status check_stream_options(const StepOptions& options);

/// How many windows of packs may follow a pack before it is in a group: regions are drawn anew
/// after eight of them, and a pack that was there twice leaves.
inline constexpr std::int64_t kMostStepWindows = 17;

struct ArrivedPack {
  std::int64_t id = 0;  // from 0, in any order; kZeroWeightPack in a last step
  metrics::PackLoad load = {};

  friend bool operator==(const ArrivedPack&, const ArrivedPack&) = default;
};

/// Packs that wait for others like them. Packs with and without vision units have a window each
/// and never meet before the end.
struct GroupWindowState {
  struct Waiting {
    ArrivedPack pack;
    bool has_waited = false;  // when the regions were drawn: it leaves when they are drawn again

    friend bool operator==(const Waiting&, const Waiting&) = default;
  };
  std::vector<Waiting> waiting;               // in order of arrival
  std::vector<metrics::PackLoad> drawn_from;  // what the regions were drawn from; empty: none yet
  std::vector<metrics::PackLoad> recent;      // of the packs that came last, oldest first
  std::int64_t arrived_since = 0;             // the regions were drawn

  friend bool operator==(const GroupWindowState&, const GroupWindowState&) = default;
};

/// All that decides what comes next, beside the options.
struct StreamStepState {
  std::int64_t groups = 0;  // formed so far
  std::int64_t steps = 0;   // taken so far
  std::int64_t zero_weight_packs = 0;
  std::int64_t dropped_packs = 0;
  std::int64_t repeated_packs = 0;
  bool finished = false;
  GroupWindowState with_vision, idle;
  std::vector<ArrivedPack> ready;      // groups in the order in which they run
  std::vector<ArrivedPack> last_step;  // that was taken: what tail policy `repeat` may run again

  friend bool operator==(const StreamStepState&, const StreamStepState&) = default;
};

class GroupWindow;

class StreamSteps {
 public:
  /// `state`: of an object with the same options. Errors: check_stream_options.
  static Result<StreamSteps> create(const StepOptions& options, StreamStepState state = {});
  StreamSteps(StreamSteps&&) noexcept;
  StreamSteps& operator=(StreamSteps&&) noexcept;
  ~StreamSteps();

  /// Amortised O(log window). Not behind finish(). A pack becomes part of a group before
  /// kMostStepWindows windows of packs of its kind (with vision units or without) have followed it,
  /// unless fewer than dp have.
  void push(const ArrivedPack& pack);

  /// Forms the last steps of all packs that are in no step yet, by form_steps; a stream within one
  /// window gives its very table. Tail policy `repeat` runs packs of the step before again.
  /// Error: kNothingUsable as form_steps, if there has been no step at all.
  Status finish();

  bool has_step() const;
  /// Pack ids [micro_batches, dp] of the next step, which there must be.
  std::vector<std::int64_t> take();

  const std::vector<ArrivedPack>& last_step() const { return state_.last_step; }
  std::int64_t num_steps() const { return state_.steps; }  // taken so far
  bool finished() const { return state_.finished; }
  /// O(held packs).
  StreamStepState state() const;

 private:
  StreamSteps(const StepOptions& options, StreamStepState state);
  std::size_t packs_in_step() const;
  std::vector<ArrivedPack> take_unstepped();

  StepOptions options_;
  StreamStepState state_;  // but for the windows
  std::unique_ptr<GroupWindow> with_vision_, idle_;
};

}  // namespace omnibal::steps
