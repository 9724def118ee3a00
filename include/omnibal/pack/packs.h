// SPDX-License-Identifier: Apache-2.0
//
// Packs: groups of samples under hard caps; each is one micro-batch element.
//
//   const PackLimits limits = PackLimits::with_paper_floors(9, 4096);
//   OMNIBAL_ASSIGN(const Admission admitted, admit(samples, limits, {}));
//   const Packs packs = pack_isf(samples, admitted.accepted, limits, seed);
//
// Every sample is placed exactly once or rejected with a reason: placed + rejected = given.
// Not for the order in which packs run: that is room steps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/metrics/loads.h"
#include "omnibal/metrics/occupancy.h"

namespace omnibal::pack {

/// Largest cap accepted: far above any context length, small enough for tables indexed by length.
inline constexpr std::int64_t kLargestCap = std::int64_t{1} << 24;

/// The paper's Q_v, Q_t (caps), Q'_v, Q'_t (floors) and T (rounds).
struct PackLimits {
  std::int64_t vision_cap = 0;
  std::int64_t token_cap = 0;
  std::int64_t vision_floor = 0;
  std::int64_t token_floor = 0;
  std::int64_t rounds = 50;
  std::int64_t max_samples = 0;     // in a pack; 0: no limit
  std::int64_t token_multiple = 1;  // a pack is padded up to a multiple of it, inside the cap

  /// Caps with the paper's floors: vision_cap, max(0, token_cap - 128).
  static PackLimits with_paper_floors(std::int64_t vision_cap, std::int64_t token_cap);

  /// Tokens that samples may use: the cap less what rounding up would push over it.
  std::int64_t usable_tokens() const { return token_cap / token_multiple * token_multiple; }

  /// What no pack may pass.
  metrics::PackCaps caps() const { return {vision_cap, usable_tokens(), max_samples}; }
};

/// kInvalidArgument unless caps are in [1, kLargestCap], floors not negative, rounds at least 1,
/// and the cap holds one token multiple. A floor above its cap is legal: it turns that filter off.
Status check_limits(const PackLimits& limits);

/// What a pack's length must be a multiple of: lcm(2 cp, cp tp, 8) with context or sequence
/// parallelism (each rank takes two chunks of equal length, cut again by tp, 8 for tensor cores);
/// 1 without.
std::int64_t token_multiple(std::int64_t cp, std::int64_t tp);

struct Packs {
  std::vector<std::int64_t> offsets{0};  // [packs + 1]
  std::vector<std::uint32_t> samples;    // corpus indices

  std::int64_t size() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  metrics::GroupView view() const { return {offsets, samples}; }
};

/// What happens to a sample that no pack can hold: it is left out, ends the work, or is cut to what
/// a pack holds where that is safe and else left out.
enum class OverLong { kReject, kError, kTruncate };

/// "reject", "error", "truncate".
std::string_view to_string(OverLong policy);
std::vector<std::string> over_long_names();
/// Error: kInvalidArgument, naming the policies there are.
Result<OverLong> parse_over_long(std::string_view name);

struct AdmissionOptions {
  OverLong over_long = OverLong::kReject;
  bool allow_empty = false;  // samples of 0 tokens are packed; limits.max_samples must be set
};

struct Rejection {
  std::uint32_t sample = 0;
  std::string_view reason;  // "tokens", "vision", "zero_tokens"; of kTruncate "media", "supervised"
  std::int64_t value = 0;
  std::int64_t limit = 0;
};

/// What a cut must know of samples beside their lengths. Columns of a corpus.
struct CutColumns {
  std::span<const std::uint16_t> dummy_vision;
  std::span<const std::uint32_t> supervised;
  std::int64_t llm_tokens = 0;  // of a real vision unit
};

/// An accepted sample whose text ends early: all its media stay. Whoever packs it charges `to`.
struct Truncation {
  std::uint32_t sample = 0;
  std::uint32_t from = 0;        // tokens before
  std::uint32_t to = 0;          // tokens after
  std::uint32_t supervised = 0;  // tokens with a loss that stay at least

  friend bool operator==(const Truncation&, const Truncation&) = default;
};

/// `column` of all samples with `after` of every cut in it; empty where nothing is cut, so that the
/// column itself serves. O(samples).
std::vector<std::uint32_t> cut_column(std::span<const std::uint32_t> column,
                                      std::span<const Truncation> truncated,
                                      std::uint32_t Truncation::*after);

/// Which samples can be packed at all, in corpus order.
struct Admission {
  std::vector<std::uint32_t> accepted;
  std::vector<Rejection> rejected;
  std::vector<Truncation> truncated;  // of the accepted
};

/// kTruncate needs `cut`. A sample with more tokens than a pack may use, and no more vision units,
/// is cut at its end to the tokens that a pack may use if (1) its media tokens leave room for one
/// more, else it is rejected for "media"; (2) a token with a loss stays even if all that is cut off
/// had one, else it is rejected for "supervised" (value: its tokens with a loss; limit: the fewest
/// that would do).
/// O(samples). Errors: as check_limits; kNothingUsable ("0 of 3 samples are usable");
/// kTokenCapExceeded, kVisionCapExceeded under kError, with the corpus index as row.
Result<Admission> admit(const metrics::SampleColumns& samples, const PackLimits& limits,
                        const AdmissionOptions& options, const CutColumns& cut = {});

}  // namespace omnibal::pack
