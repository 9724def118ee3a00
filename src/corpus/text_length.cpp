// SPDX-License-Identifier: Apache-2.0
#include "corpus/text_length.h"

#include <algorithm>
#include <cmath>

#include "omnibal/base/portable_math.h"

namespace omnibal::corpus {

// With mean m and deviation s of the log-normal itself: sigma^2 = ln(1 + (s/m)^2),
// mu = ln(m) - sigma^2 / 2.
TextLengthSampler::TextLengthSampler(const TextLength& text)
    : min_(static_cast<double>(text.min)), max_(static_cast<double>(text.max)) {
  const double spread = text.std / text.mean;
  const double variance = portable_log(1 + spread * spread);
  mu_ = portable_log(text.mean) - variance / 2;
  sigma_ = std::sqrt(variance);
}

double TextLengthSampler::draw_unbounded(PhiloxRng& rng) const {
  constexpr double kLargest = 700;  // of portable_exp
  return portable_exp(std::clamp(mu_ + sigma_ * rng.normal(), -kLargest, kLargest));
}

std::int64_t TextLengthSampler::draw(PhiloxRng& rng) const {
  double value = draw_unbounded(rng);
  for (int i = 1; i < kMaxDraws && (value < min_ || value > max_); ++i) {
    value = draw_unbounded(rng);
  }
  return static_cast<std::int64_t>(std::floor(std::clamp(value, min_, max_) + 0.5));
}

bool TextLengthSampler::accepts_often_enough() const {
  constexpr int kTrials = 10'000;
  constexpr int kNeeded = kTrials / 100;
  PhiloxRng rng(0, RngStream::kSynthSample, UINT32_MAX);  // no sample has this index
  int accepted = 0;
  for (int i = 0; i < kTrials; ++i) {
    const double value = draw_unbounded(rng);
    accepted += value >= min_ && value <= max_ ? 1 : 0;
  }
  return accepted >= kNeeded;
}

}  // namespace omnibal::corpus
