// SPDX-License-Identifier: Apache-2.0
//
// StreamPacker: packs samples that arrive one by one without end, holding at most a window of them.
// A full window is packed by the same packers as a corpus; the packs that are full leave, the
// samples of the others wait in the window for the next to arrive.
//
//   OMNIBAL_ASSIGN(StreamPacker packer, StreamPacker::create({.limits = limits}));
//   OMNIBAL_ASSIGN(const auto rejection, packer.push({id, vision, tokens}, packs));   // for each
//   packer.finish(packs);                                                            // the rest
//
// Not for a corpus that fits in memory: packed whole (method.h) it makes slightly fewer packs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "omnibal/pack/method.h"
#include "omnibal/pack/packs.h"

namespace omnibal::pack {

/// Windows that a sample goes through at most: it leaves with the fourth, however badly its pack
/// is filled.
inline constexpr std::uint8_t kMostPackWindows = 4;
inline constexpr std::int64_t kLargestPackWindow = std::int64_t{1} << 30;

struct StreamPackOptions {
  Method method = Method::kIsf;
  PackLimits limits = {};
  AdmissionOptions admission = {};
  std::int64_t window_samples = std::int64_t{1} << 16;
  std::uint64_t seed = 0;
  AutoOptions automatic = {};  // of method auto
};

/// kInvalidArgument: as check_limits; a window outside [1, kLargestPackWindow]; a method that knows
/// no caps; empty samples without max_samples; OverLong::kTruncate (a stream gives lengths alone).
Status check_stream_options(const StreamPackOptions& options);

struct StreamSample {
  std::int64_t id = 0;  // whatever the giver knows it by, not negative: its row in the input
  std::uint32_t vision = 0;
  std::uint32_t tokens = 0;

  friend bool operator==(const StreamSample&, const StreamSample&) = default;
};

struct WaitingSample {
  StreamSample sample;
  std::uint8_t windows = 0;  // that it has been through

  friend bool operator==(const WaitingSample&, const WaitingSample&) = default;
};

/// All that decides what comes next, beside the options.
struct StreamPackState {
  std::int64_t samples = 0;            // given so far
  std::int64_t windows = 0;            // packed so far
  std::vector<WaitingSample> waiting;  // in order of arrival

  friend bool operator==(const StreamPackState&, const StreamPackState&) = default;
};

struct StreamedPack {
  std::vector<std::int64_t> samples;  // ids
  metrics::PackLoad load;

  friend bool operator==(const StreamedPack&, const StreamedPack&) = default;
};

struct StreamRejection {
  std::int64_t sample = 0;  // id
  std::string_view reason;  // "tokens", "vision", "zero_tokens"
  std::int64_t value = 0;
  std::int64_t limit = 0;
};

/// kNothingUsable, told as of a corpus: every sample was rejected, `first` before the others.
Error nothing_usable(std::int64_t num_samples, const StreamRejection& first);

class StreamPacker {
 public:
  /// `state`: of a packer with the same options. Errors: check_stream_options.
  static Result<StreamPacker> create(const StreamPackOptions& options, StreamPackState state = {});

  /// Takes the next sample, or says why no pack can hold it. Packs that leave a full window are
  /// put behind `packs`: those that reach a floor, then the fullest of the others until half of the
  /// window's samples have left, and those with a sample that has been through kMostPackWindows.
  /// Amortised O(1) times the packer's own cost a sample.
  /// Errors: kTokenCapExceeded, kVisionCapExceeded under OverLong::kError; the sample is then as
  /// if it had not been given.
  Result<std::optional<StreamRejection>> push(const StreamSample& sample,
                                              std::vector<StreamedPack>& packs);

  /// Packs all that waits. Samples may follow nevertheless.
  void finish(std::vector<StreamedPack>& packs);

  const StreamPackState& state() const { return state_; }

 private:
  StreamPacker(const StreamPackOptions& options, StreamPackState state);
  void pack_window(bool all_leave, std::vector<StreamedPack>& packs);

  StreamPackOptions options_;
  StreamPackState state_;
};

}  // namespace omnibal::pack
