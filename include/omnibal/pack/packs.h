// SPDX-License-Identifier: Apache-2.0
//
// Packs: groups of samples under hard caps; each is one micro-batch element.
//
//   const PackLimits limits{.vision_cap = 9, .token_cap = 4096};
//   OMNIBAL_ASSIGN(const Admission admitted, admit(samples, limits, options));
//   const Packs packs = pack_isf(samples, admitted.accepted, limits.isf(), seed);
//
// Every sample is placed exactly once or rejected with a reason: placed + rejected = given.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/metrics/loads.h"

namespace omnibal::pack {

/// The paper's Q_v, Q_t (caps), Q'_v, Q'_t (floors) and T (rounds).
struct PackLimits {
  std::int64_t vision_cap = 0;
  std::int64_t token_cap = 0;
  std::int64_t vision_floor = 0;
  std::int64_t token_floor = 0;
  std::int64_t rounds = 50;
  std::int64_t max_samples = 0;  // in a pack; 0: no limit

  /// Caps with the paper's floors: vision_cap, max(0, token_cap - 128).
  static PackLimits with_paper_floors(std::int64_t vision_cap, std::int64_t token_cap);
};

struct Packs {
  std::vector<std::int64_t> offsets{0};  // [packs + 1]
  std::vector<std::uint32_t> samples;    // corpus indices

  std::int64_t size() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  metrics::GroupView view() const { return {offsets, samples}; }
};

enum class OverLong { kReject, kError, kTruncate };

struct AdmissionOptions {
  OverLong over_long = OverLong::kReject;
  bool allow_empty = false;  // samples of 0 tokens are packed (then max_samples should be set)
};

struct Rejection {
  std::uint32_t sample = 0;
  std::string_view reason;  // "tokens", "vision", "zero_tokens"
  std::int64_t value = 0;
  std::int64_t limit = 0;
};

/// Which samples can be packed at all, in corpus order.
struct Admission {
  std::vector<std::uint32_t> accepted;
  std::vector<Rejection> rejected;
};

/// Errors: kNothingUsable ("0 of 3 usable"), kTokenCapExceeded / kVisionCapExceeded under kError.
Result<Admission> admit(const metrics::SampleColumns& samples, const PackLimits& limits,
                        const AdmissionOptions& options);

}  // namespace omnibal::pack
