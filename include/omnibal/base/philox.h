// SPDX-License-Identifier: Apache-2.0
//
// PhiloxRng: counter-based random numbers (Philox4x32-10, Salmon et al., SC 2011), the same on
// every platform. No global state: whoever needs randomness is given a seed.
//
//   PhiloxRng rng(seed, RngStream::kPackShuffle, round);
//   shuffle(std::span(pool), rng);
//   rng.below(6);     // 0..5, unbiased
//
// Not for secrets, and never std::shuffle or std::uniform_*: those differ between libraries.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace omnibal {

/// What the numbers are for. Two streams of one seed are independent. Values are part of the
/// meaning of a seed: append, never renumber.
enum class RngStream : std::uint32_t {
  kSynthSample = 1,
  kSynthShuffle = 2,
  kPackShuffle = 3,
  kBaselineShuffle = 5,
  kStepWindow = 6,
  kStepOrder = 7,
  kTest = 8,
  kStreamPack = 11,
  kStreamStep = 12,
  kStreamOrder = 13,
  kMixture = 16,
  kLimitSample = 17,
  kEpochRows = 20,
  kEpochRanks = 21,
  kStepChange = 22,
};

class PhiloxRng {
 public:
  /// `substream` separates draws of one purpose: a round, an epoch, a sample.
  explicit PhiloxRng(std::uint64_t seed, RngStream stream, std::uint32_t substream = 0);

  std::uint32_t next_u32() {
    if (used_ == buffer_.size()) refill();
    return buffer_[used_++];
  }
  std::uint64_t next_u64() {
    const std::uint64_t high = next_u32();
    return (high << 32) | next_u32();
  }
  /// Uniform in [0, bound), unbiased (Lemire 2019). `bound` > 0.
  std::uint32_t below(std::uint32_t bound) {
    std::uint64_t product = std::uint64_t{next_u32()} * bound;
    if (static_cast<std::uint32_t>(product) < bound) {
      const std::uint32_t threshold = (0U - bound) % bound;
      while (static_cast<std::uint32_t>(product) < threshold) {
        product = std::uint64_t{next_u32()} * bound;
      }
    }
    return static_cast<std::uint32_t>(product >> 32);
  }
  /// Uniform in [0, 1) with 53 bits.
  double uniform() { return static_cast<double>(next_u64() >> 11) * 0x1p-53; }
  /// Standard normal (Marsaglia's polar method on portable_log: no libm).
  double normal();

 private:
  void refill();

  static constexpr int kBlocks = 4;
  std::array<std::uint32_t, 4 * kBlocks> buffer_{};
  std::size_t used_ = buffer_.size();
  std::uint64_t block_ = 0;
  std::uint64_t seed_;
  std::uint32_t stream_;
  std::uint32_t substream_;
};

/// Fisher-Yates; every order equally likely. At most 2^32 - 1 items.
template <class T>
void shuffle(std::span<T> items, PhiloxRng& rng) {
  for (std::size_t i = items.size(); i > 1; --i) {
    std::swap(items[i - 1], items[rng.below(static_cast<std::uint32_t>(i))]);
  }
}

}  // namespace omnibal
