// SPDX-License-Identifier: Apache-2.0
//
// RowPermutation: a random order of the numbers 0 .. size - 1 that needs no list of them: entry i
// costs O(1), so that any place of any epoch can be read at once.
//
//   const RowPermutation order(table_rows, {.seed = seed, .epoch = 3});
//   order(0);          // the row that comes first in epoch 3
//   order(0) != order(1);
//
// Not for cryptography.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace omnibal::steps {

struct PermutationKey {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
};

class RowPermutation {
 public:
  /// Up to kListed numbers are shuffled, every order equally likely. More go through a Feistel
  /// network (Luby and Rackoff, 1988) of eight rounds over the next even number of bits, applied
  /// again until it lands inside the range ("cycle walking", Black and Rogaway, 2002): fewer than
  /// four times on average. O(kListed).
  RowPermutation(std::int64_t size, const PermutationKey& key);

  /// `i` in [0, size).
  std::int64_t operator()(std::int64_t i) const;

  static constexpr std::int64_t kListed = 256;

 private:
  std::uint64_t encipher(std::uint64_t value) const;

  static constexpr std::size_t kRounds = 8;
  std::uint64_t size_;
  std::vector<std::int64_t> listed_;
  std::array<std::uint64_t, kRounds> keys_{};
  int half_bits_ = 0;
};

}  // namespace omnibal::steps
