// SPDX-License-Identifier: Apache-2.0
//
// StreamSteps: steps from packs that arrive without end, of which at most a window waits. A full
// window is cut into groups of alike packs as an epoch is; the most alike eighth of the groups
// leave it for the steps, the packs of the others wait for others like them.
//
//   OMNIBAL_ASSIGN(StreamSteps steps, StreamSteps::create({.dp = 8, .micro_batches = 32}));
//   steps.push({.id = 0, .load = load});                     // for each pack
//   while (steps.has_step()) run(steps.take());              // [micro_batches, dp] pack ids
//   OMNIBAL_RETURN_IF_ERROR(steps.finish());                 // the rest becomes steps too
//
// Not for an epoch whose packs are all known: form_steps mixes the whole of it.
#pragma once

#include <cstdint>
#include <vector>

#include "omnibal/metrics/loads.h"
#include "omnibal/steps/step_table.h"

namespace omnibal::steps {

/// `options.window` groups must be held at once: 0 and more than kLargestStep packs are
/// kInvalidArgument, as is what check_step_options refuses.
Status check_stream_options(const StepOptions& options);

/// Times that a pack is grouped at most: it leaves with the last, whoever is in its group. At least
/// an eighth of the groups leave each time.
inline constexpr std::uint8_t kMostGroupings = 32;

struct ArrivedPack {
  std::int64_t id = 0;  // from 0, in any order; kZeroWeightPack in a last step
  metrics::PackLoad load = {};

  friend bool operator==(const ArrivedPack&, const ArrivedPack&) = default;
};

/// A pack that waits for others like it.
struct WaitingPack {
  ArrivedPack pack;
  std::uint8_t groupings = 0;  // that it has been through

  friend bool operator==(const WaitingPack&, const WaitingPack&) = default;
};

/// All that decides what comes next, beside the options.
struct StreamStepState {
  std::int64_t groupings = 0;  // of full windows, so far
  std::int64_t steps = 0;      // taken so far
  std::int64_t zero_weight_packs = 0;
  std::int64_t dropped_packs = 0;
  std::int64_t repeated_packs = 0;
  bool finished = false;
  // In order of arrival. Packs with and without vision units have a window each and do not meet
  // before the end: the vision towers of all ranks run in the same micro-batches.
  std::vector<WaitingPack> with_vision, idle;
  std::vector<ArrivedPack> ready;      // groups in the order in which they run
  std::vector<ArrivedPack> last_step;  // that was taken: what tail policy `repeat` may run again

  friend bool operator==(const StreamStepState&, const StreamStepState&) = default;
};

class StreamSteps {
 public:
  /// `state`: of an object with the same options. Errors: check_stream_options.
  static Result<StreamSteps> create(const StepOptions& options, StreamStepState state = {});

  /// Amortised O(log window). Not behind finish().
  void push(const ArrivedPack& pack);

  /// Forms the last steps of all packs that are in no step yet, by form_steps; a stream within one
  /// window gives its very table. Tail policy `repeat` runs packs of the step before again.
  /// Error: kNothingUsable as form_steps, if there has been no step at all.
  Status finish();

  bool has_step() const;
  /// Pack ids [micro_batches, dp] of the next step, which there must be.
  std::vector<std::int64_t> take();

  const StreamStepState& state() const { return state_; }

 private:
  StreamSteps(const StepOptions& options, StreamStepState state);
  std::size_t packs_in_step() const;
  void group_window(std::vector<WaitingPack>& window);
  std::vector<ArrivedPack> take_unstepped();

  StepOptions options_;
  StreamStepState state_;
};

}  // namespace omnibal::steps
