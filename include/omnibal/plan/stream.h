// SPDX-License-Identifier: Apache-2.0
//
// StreamPlanner: from samples that arrive without end to the steps that run them, in memory bounded
// by two windows (pack/stream.h, steps/stream.h).
//
//   OMNIBAL_ASSIGN(StreamPlanner planner, StreamPlanner::create(options));
//   OMNIBAL_ASSIGN(const auto rejection, planner.push({id, vision, tokens}));   // for each sample
//   while (planner.has_step()) run(planner.take());
//   OMNIBAL_RETURN_IF_ERROR(planner.finish());                                  // take the rest
//
// Not for reading, writing and surviving a crash: stream_session.h.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/codec/json.h"
#include "omnibal/metrics/balance.h"
#include "omnibal/pack/stream.h"
#include "omnibal/steps/step_table.h"
#include "omnibal/steps/stream.h"

namespace omnibal::plan {

struct StreamOptions {
  pack::StreamPackOptions packing;
  steps::StepOptions steps;  // `forward` predicts the time that the summary reports, too
  bool add_dummy = false;    // done to the samples before they are given (corpus::ReadOptions)
};

/// Everything that decides what comes out: method, limits, admission, windows, sizes, seeds, costs,
/// and what is done to the samples before.
codec::Json to_json(const StreamOptions& options);

struct StreamStep {
  std::int64_t step = 0;                  // from 0
  std::vector<pack::StreamedPack> packs;  // [micro_batches, dp]; without samples: zero-weight
};

/// Sums over all that has been given and taken.
struct StreamTotals {
  std::int64_t rejected = 0;
  std::int64_t packs = 0;  // that have left the window of samples
  std::int64_t vision_units = 0;
  std::int64_t tokens = 0;
  std::int64_t padding = 0;  // tokens that round packs up
  std::int64_t over_cap = 0;
  std::int64_t duplicated = 0;            // samples of packs that ran again
  std::int64_t samples_in_steps = 0;      // of steps that have been taken
  std::int64_t squared_step_samples = 0;  // sum over steps of their samples, squared
  std::int64_t balanced_rows = 0;         // without a zero-weight pack
  metrics::DistRatios dist_sum;           // over these rows
  std::int64_t peak_samples = 0;          // held at once, in packs too
  std::int64_t peak_packs = 0;
};

/// A pack that has left the window of samples.
struct HeldPack {
  pack::StreamedPack pack;
  bool has_run = false;  // in a step that was taken
};

struct StreamState {
  pack::StreamPackState packing;
  steps::StreamStepState steps;
  std::int64_t first_pack = 0;    // id of packs.front()
  std::deque<HeldPack> packs;     // by id; without samples once no step needs it
  std::int64_t held_samples = 0;  // in `packs`
  std::int64_t held_packs = 0;
  StreamTotals totals;
  std::uint64_t fingerprint = kNoSamples;  // of all samples given, in their order

  static constexpr std::uint64_t kNoSamples = 0x6f6d6e6962616c00;
};

/// The fingerprint with one sample more.
std::uint64_t fold(std::uint64_t fingerprint, const pack::StreamSample& sample);

class StreamPlanner {
 public:
  /// `state`: of a planner with the same options.
  /// Errors: pack::check_stream_options, steps::check_stream_options.
  static Result<StreamPlanner> create(const StreamOptions& options, StreamState state = {});

  /// Takes the next sample or says why no pack can hold it. Take the steps there are before the
  /// next: untaken ones are kept. Errors: as StreamPacker::push.
  Result<std::optional<pack::StreamRejection>> push(const pack::StreamSample& sample);

  /// Steps of all that is held. No sample may follow.
  /// Errors: kNothingUsable (no sample was accepted, or as StreamSteps::finish).
  Status finish();

  bool has_step() const { return steps_.has_step(); }
  /// The next step, which there must be.
  StreamStep take();

  bool finished() const { return steps_.state().finished; }
  std::int64_t num_samples() const { return packer_.state().samples; }  // given so far
  std::uint64_t fingerprint() const { return state_.fingerprint; }
  const StreamOptions& options() const { return options_; }
  StreamState state() const;
  /// The keys of `omnibal stream` (docs/formats/stream.md) that follow from the state.
  codec::Json summary() const;

 private:
  StreamPlanner(const StreamOptions& options, pack::StreamPacker packer, steps::StreamSteps steps,
                StreamState state);
  void hold(std::vector<pack::StreamedPack> packs);
  void count(const StreamStep& step);
  void release(const std::vector<steps::ArrivedPack>& packs);
  HeldPack& held(std::int64_t id) {
    return state_.packs[static_cast<std::size_t>(id - state_.first_pack)];
  }

  StreamOptions options_;
  pack::StreamPacker packer_;
  steps::StreamSteps steps_;
  StreamState state_;  // but for packing and steps, which the two above hold
};

}  // namespace omnibal::plan
