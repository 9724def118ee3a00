// SPDX-License-Identifier: Apache-2.0
//
// Best fit and first fit on counts against the same rules applied to one sample at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "omnibal/pack/best_fit.h"
#include "omnibal/pack/first_fit.h"
#include "pack/placement.h"

namespace omnibal::pack {
namespace {

struct PlainPack {
  std::int64_t vision = 0;
  std::int64_t tokens = 0;
  std::int64_t samples = 0;
};

bool fits(const PlainPack& pack, std::int64_t vision, std::int64_t tokens, const PackLimits& caps) {
  return pack.vision + vision <= caps.vision_cap && pack.tokens + tokens <= caps.token_cap &&
         (caps.max_samples == 0 || pack.samples < caps.max_samples);
}

/// Samples in `order`, each into the pack that `better` prefers of those that hold it.
template <class Better>
std::size_t plain_packs(const TestSamples& samples, const std::vector<std::size_t>& order,
                        const PackLimits& limits, Better better) {
  std::vector<PlainPack> packs;
  for (const std::size_t i : order) {
    PlainPack* best = nullptr;
    for (PlainPack& pack : packs) {
      if (!fits(pack, samples.vision[i], samples.tokens[i], limits)) continue;
      if (best == nullptr || better(pack, *best)) best = &pack;
    }
    if (best == nullptr) best = &packs.emplace_back();
    best->vision += samples.vision[i];
    best->tokens += samples.tokens[i];
    ++best->samples;
  }
  return packs.size();
}

template <class Larger>
std::vector<std::size_t> sorted_by(const TestSamples& samples, Larger size) {
  std::vector<std::size_t> order(samples.tokens.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (size(a) != size(b)) return size(a) > size(b);
    return std::pair(samples.vision[a], samples.tokens[a]) >
           std::pair(samples.vision[b], samples.tokens[b]);
  });
  return order;
}

TestSamples few_lengths(PhiloxRng& rng, const PackLimits& limits) {
  TestSamples samples;
  const std::uint32_t classes = 1 + rng.below(12);
  for (std::uint32_t c = 0; c < classes; ++c) {
    samples.add(rng.below(static_cast<std::uint32_t>(limits.vision_cap) + 1),
                1 + rng.below(static_cast<std::uint32_t>(limits.token_cap)),
                static_cast<int>(1 + rng.below(20)));
  }
  return samples;
}

PackLimits random_caps(PhiloxRng& rng) {
  PackLimits limits = PackLimits::with_paper_floors(1 + rng.below(15), 1 + rng.below(200));
  limits.max_samples = rng.below(2) == 0 ? 0 : 1 + rng.below(6);
  return limits;
}

std::vector<std::uint32_t> all_of(const TestSamples& samples) {
  std::vector<std::uint32_t> ids(samples.tokens.size());
  std::iota(ids.begin(), ids.end(), 0U);
  return ids;
}

TEST(FirstFitProperty, MakesAsManyPacksAsOneSampleAtATime) {
  PhiloxRng rng(31, RngStream::kTest);
  for (int trial = 0; trial < 500; ++trial) {
    const PackLimits limits = random_caps(rng);
    const TestSamples samples = few_lengths(rng, limits);
    const auto order = sorted_by(samples, [&](std::size_t i) { return samples.tokens[i]; });
    const auto first_opened = [](const PlainPack&, const PlainPack&) { return false; };
    const Packs packs = pack_first_fit(samples.columns(), all_of(samples), limits, 0);
    ASSERT_EQ(packs.size(),
              static_cast<std::int64_t>(plain_packs(samples, order, limits, first_opened)))
        << "trial " << trial;
  }
}

/// Without a cap on samples: with one, which of two equally full packs a sample enters matters.
TEST(BestFitProperty, MakesAsManyPacksAsOneSampleAtATimeInTheBetterOrder) {
  PhiloxRng rng(32, RngStream::kTest);
  for (int trial = 0; trial < 500; ++trial) {
    PackLimits limits = random_caps(rng);
    limits.max_samples = 0;
    const TestSamples samples = few_lengths(rng, limits);
    const auto share = [&](std::size_t i) {
      return std::pair(samples.vision[i] / static_cast<double>(limits.vision_cap),
                       samples.tokens[i] / static_cast<double>(limits.token_cap));
    };
    double vision = 0;
    double tokens = 0;
    for (std::size_t i = 0; i < samples.tokens.size(); ++i) {
      vision += samples.vision[i];
      tokens += samples.tokens[i];
    }
    vision /= static_cast<double>(limits.vision_cap);
    tokens /= static_cast<double>(limits.token_cap);
    const double weight = vision / (vision + tokens);
    const auto tighter = [](const PlainPack& a, const PlainPack& b) {
      return std::pair(a.tokens, a.vision) > std::pair(b.tokens, b.vision);
    };
    const auto by_larger_share = sorted_by(
        samples, [&](std::size_t i) { return std::max(share(i).first, share(i).second); });
    const auto by_squares = sorted_by(samples, [&](std::size_t i) {
      const auto [v, t] = share(i);
      return weight * v * v + (1 - weight) * t * t;
    });
    const std::size_t expected = std::min(plain_packs(samples, by_larger_share, limits, tighter),
                                          plain_packs(samples, by_squares, limits, tighter));
    const Packs packs = pack_best_fit(samples.columns(), all_of(samples), limits, 0);
    ASSERT_EQ(packs.size(), static_cast<std::int64_t>(expected)) << "trial " << trial;
  }
}

}  // namespace
}  // namespace omnibal::pack
