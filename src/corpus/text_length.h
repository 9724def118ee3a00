// SPDX-License-Identifier: Apache-2.0
//
// TextLengthSampler: whole numbers from a truncated log-normal. Private to the room.
#pragma once

#include <cstdint>

#include "omnibal/base/philox.h"
#include "omnibal/corpus/synth.h"

namespace omnibal::corpus {

class TextLengthSampler {
 public:
  explicit TextLengthSampler(const TextLength& text);

  /// exp(mu + sigma * normal), redrawn until it lies in [min, max], then rounded. A recipe whose
  /// bounds are hardly ever met is refused when it is read (accepts_often_enough); after
  /// kMaxDraws all the same, the nearer bound is taken, so that the loop always ends.
  std::int64_t draw(PhiloxRng& rng) const;

  /// Whether at least one draw in a hundred lies within the bounds.
  bool accepts_often_enough() const;

 private:
  static constexpr int kMaxDraws = 100'000;
  double draw_unbounded(PhiloxRng& rng) const;

  double min_;
  double max_;
  double mu_;
  double sigma_;
};

}  // namespace omnibal::corpus
