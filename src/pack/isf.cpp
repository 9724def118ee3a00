// SPDX-License-Identifier: Apache-2.0
#include "omnibal/pack/isf.h"

#include <limits>
#include <vector>

#include "omnibal/base/philox.h"

namespace omnibal::pack {
namespace {

/// A pooled sample with its lengths beside it: a shuffled pool is then read in order of memory.
template <class Length>
struct PoolItem {
  std::uint32_t sample;
  Length vision;
  Length tokens;
};

/// Caps and floors of one round, a cap of 0 samples resolved.
struct RoundLimits {
  std::int64_t vision_cap, token_cap, vision_floor, token_floor;
  std::size_t max_samples;
};

RoundLimits round_limits(const PackLimits& limits, bool keep_all) {
  const metrics::PackCaps caps = limits.caps();
  return {caps.vision_units, caps.tokens, keep_all ? 0 : limits.vision_floor,
          keep_all ? 0 : limits.token_floor,
          caps.samples > 0 ? static_cast<std::size_t>(caps.samples)
                           : std::numeric_limits<std::size_t>::max()};
}

/// Cuts the pool into groups in order; the groups that reach a floor become packs, the samples of
/// the others move to the front of the pool. Returns how many those are.
template <class Item>
std::size_t sample_and_filter(std::span<Item> pool, const RoundLimits& limits, Packs& packs) {
  std::size_t returned = 0;
  for (std::size_t begin = 0, end = 0; begin < pool.size(); begin = end) {
    std::int64_t vision = pool[begin].vision;
    std::int64_t tokens = pool[begin].tokens;
    for (end = begin + 1; end < pool.size() && end - begin < limits.max_samples; ++end) {
      const std::int64_t more_vision = vision + pool[end].vision;
      const std::int64_t more_tokens = tokens + pool[end].tokens;
      if (more_vision > limits.vision_cap || more_tokens > limits.token_cap) break;
      vision = more_vision;
      tokens = more_tokens;
    }
    if (vision >= limits.vision_floor || tokens >= limits.token_floor ||
        end - begin == limits.max_samples) {
      for (std::size_t i = begin; i < end; ++i) packs.samples.push_back(pool[i].sample);
      packs.offsets.push_back(static_cast<std::int64_t>(packs.samples.size()));
    } else {
      for (std::size_t i = begin; i < end; ++i) pool[returned++] = pool[i];
    }
  }
  return returned;
}

template <class Length>
Packs pack_rounds(const metrics::SampleColumns& samples, std::span<const std::uint32_t> accepted,
                  const PackLimits& limits, std::uint64_t seed, const Progress& progress) {
  std::vector<PoolItem<Length>> items;
  items.reserve(accepted.size());
  for (const std::uint32_t i : accepted) {
    items.push_back(
        {i, static_cast<Length>(samples.vision[i]), static_cast<Length>(samples.tokens[i])});
  }
  Packs packs;
  packs.samples.reserve(accepted.size());
  std::span<PoolItem<Length>> pool(items);
  for (std::int64_t round = 1; round <= limits.rounds && !pool.empty(); ++round) {
    PhiloxRng rng(seed, RngStream::kPackShuffle, static_cast<std::uint32_t>(round));
    shuffle(pool, rng);
    pool = pool.first(sample_and_filter(pool, round_limits(limits, round == limits.rounds), packs));
    report(progress, "packing", static_cast<std::int64_t>(packs.samples.size()),
           static_cast<std::int64_t>(accepted.size()));
  }
  return packs;
}

}  // namespace

Packs pack_isf(const metrics::SampleColumns& samples, std::span<const std::uint32_t> accepted,
               const PackLimits& limits, std::uint64_t seed, const Progress& progress) {
  constexpr std::int64_t kSmall = std::numeric_limits<std::uint16_t>::max();
  // 8 bytes an item instead of 12 where the caps allow it: shuffling is bound by memory.
  return limits.vision_cap <= kSmall && limits.token_cap <= kSmall
             ? pack_rounds<std::uint16_t>(samples, accepted, limits, seed, progress)
             : pack_rounds<std::uint32_t>(samples, accepted, limits, seed, progress);
}

}  // namespace omnibal::pack
