// SPDX-License-Identifier: Apache-2.0
#include "omnibal/steps/row_permutation.h"

#include <bit>
#include <numeric>
#include <span>

#include "omnibal/base/philox.h"

namespace omnibal::steps {
namespace {

/// Every bit of the result depends on every bit of `x` (the finaliser of SplitMix64, Steele et
/// al., 2014).
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

}  // namespace

RowPermutation::RowPermutation(std::int64_t size, const PermutationKey& key)
    : size_(static_cast<std::uint64_t>(size)) {
  PhiloxRng rng(key.seed, RngStream::kEpochRows, key.epoch);
  if (size <= kListed) {
    listed_.resize(size_);
    std::iota(listed_.begin(), listed_.end(), std::int64_t{0});
    shuffle(std::span(listed_), rng);
    return;
  }
  for (std::uint64_t& round_key : keys_) round_key = rng.next_u64();
  half_bits_ = (static_cast<int>(std::bit_width(size_ - 1)) + 1) / 2;
}

std::uint64_t RowPermutation::encipher(std::uint64_t value) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & mask;
  for (const std::uint64_t key : keys_) {
    const std::uint64_t next = left ^ (mixed(right ^ key) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

std::int64_t RowPermutation::operator()(std::int64_t i) const {
  if (!listed_.empty()) return listed_[static_cast<std::size_t>(i)];
  auto value = static_cast<std::uint64_t>(i);
  do {
    value = encipher(value);
  } while (value >= size_);
  return static_cast<std::int64_t>(value);
}

}  // namespace omnibal::steps
