// SPDX-License-Identifier: Apache-2.0
#include "omnibal/base/philox.h"

#include <Random123/philox.h>

#include <cmath>

#include "omnibal/base/portable_math.h"

namespace omnibal {

PhiloxRng::PhiloxRng(std::uint64_t seed, RngStream stream, std::uint32_t substream)
    : seed_(seed), stream_(static_cast<std::uint32_t>(stream)), substream_(substream) {}

void PhiloxRng::refill() {
  using Philox = r123::Philox4x32;
  const Philox::key_type key = {
      {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)}};
  for (std::size_t i = 0; i < kBlocks; ++i, ++block_) {
    const Philox::ctr_type counter = {{static_cast<std::uint32_t>(block_),
                                       static_cast<std::uint32_t>(block_ >> 32), stream_,
                                       substream_}};
    const Philox::ctr_type numbers = Philox{}(counter, key);
    for (std::size_t j = 0; j < 4; ++j) buffer_[4 * i + j] = numbers[j];
  }
  used_ = 0;
}

double PhiloxRng::normal() {
  while (true) {
    const double x = 2 * uniform() - 1;
    const double y = 2 * uniform() - 1;
    const double square = x * x + y * y;
    if (square > 0 && square < 1) return x * std::sqrt(-2 * portable_log(square) / square);
  }
}

}  // namespace omnibal
