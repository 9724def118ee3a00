// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "omnibal/base/philox.h"
#include "omnibal/metrics/pack_bound.h"

namespace omnibal::metrics {
namespace {

struct Instance {
  std::vector<std::uint32_t> vision, tokens;
  PackCaps caps;
};

Instance random_instance(PhiloxRng& rng) {
  Instance instance;
  // Caps that the knapsack's table holds as they are, and caps that it rounds.
  const std::uint32_t scale = rng.below(4) == 0 ? 1 << 10 : 1;
  instance.caps.vision_units = 1 + rng.below(9 * scale);
  instance.caps.tokens = 1 + rng.below(30 * scale);
  instance.caps.samples = rng.below(4);
  const std::uint32_t n = 1 + rng.below(9);
  for (std::uint32_t i = 0; i < n; ++i) {
    instance.vision.push_back(
        rng.below(static_cast<std::uint32_t>(instance.caps.vision_units + 1)));
    instance.tokens.push_back(rng.below(static_cast<std::uint32_t>(instance.caps.tokens + 1)));
  }
  return instance;
}

/// The least number of packs: sample `next` goes into each open pack that takes it, or a new one.
class BruteForce {
 public:
  explicit BruteForce(const Instance& instance) : in_(instance), best_(instance.tokens.size()) {}
  std::size_t solve() {
    place(0);
    return best_;
  }

 private:
  struct Open {
    std::int64_t vision, tokens, samples;
  };

  bool fits(const Open& pack, std::size_t next) const {
    return pack.vision + in_.vision[next] <= in_.caps.vision_units &&
           pack.tokens + in_.tokens[next] <= in_.caps.tokens &&
           (in_.caps.samples == 0 || pack.samples < in_.caps.samples);
  }
  void place(std::size_t next) {
    if (open_.size() >= best_) return;
    if (next == in_.tokens.size()) {
      best_ = open_.size();
      return;
    }
    for (std::size_t p = 0; p < open_.size(); ++p) {
      if (!fits(open_[p], next)) continue;
      const Open before = open_[p];
      open_[p] = {before.vision + in_.vision[next], before.tokens + in_.tokens[next],
                  before.samples + 1};
      place(next + 1);
      open_[p] = before;
    }
    open_.push_back({in_.vision[next], in_.tokens[next], 1});
    place(next + 1);
    open_.pop_back();
  }

  const Instance& in_;
  std::size_t best_;
  std::vector<Open> open_;
};

std::int64_t total_over_cap(const std::vector<std::uint32_t>& lengths, std::int64_t cap) {
  return (std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}) + cap - 1) / cap;
}

/// What the bound says of one resource when the other cannot bind.
std::int64_t alone(const std::vector<std::uint32_t>& lengths, std::int64_t cap) {
  const std::vector<std::uint32_t> nothing(lengths.size());
  std::vector<std::uint32_t> members(lengths.size());
  std::iota(members.begin(), members.end(), 0U);
  return pack_lower_bound({nothing, lengths}, members, {.vision_units = 1, .tokens = cap});
}

TEST(PackBoundProperty, NeverAboveTheLeastNumberOfPacks) {
  PhiloxRng rng(11, RngStream::kTest);
  int tight = 0;
  int above_each_resource = 0;
  constexpr int kTrials = 3000;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Instance instance = random_instance(rng);
    std::vector<std::uint32_t> members(instance.tokens.size());
    std::iota(members.begin(), members.end(), 0U);
    const std::int64_t bound =
        pack_lower_bound({instance.vision, instance.tokens}, members, instance.caps);
    const auto least = static_cast<std::int64_t>(BruteForce(instance).solve());
    ASSERT_LE(bound, least) << "trial " << trial;
    ASSERT_GE(bound, total_over_cap(instance.tokens, instance.caps.tokens));
    ASSERT_GE(bound, total_over_cap(instance.vision, instance.caps.vision_units));
    tight += bound == least ? 1 : 0;
    if (instance.caps.samples > 0) continue;
    const std::int64_t best_alone = std::max(alone(instance.vision, instance.caps.vision_units),
                                             alone(instance.tokens, instance.caps.tokens));
    ASSERT_GE(bound, best_alone);
    above_each_resource += bound > best_alone ? 1 : 0;
  }
  EXPECT_GT(tight, kTrials * 8 / 10);
  EXPECT_GT(above_each_resource, kTrials / 50);
}

}  // namespace
}  // namespace omnibal::metrics
