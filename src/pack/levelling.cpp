// SPDX-License-Identifier: Apache-2.0
#include "omnibal/pack/levelling.h"

#include <algorithm>
#include <utility>

#include "omnibal/base/parallel.h"

namespace omnibal::pack {
namespace {

/// Each round halves what a pair differs by, roughly; packs of samples that fit nowhere else stay.
constexpr int kRounds = 12;
constexpr std::int64_t kPairsPerChunk = 2048;
/// How far ahead packs are fetched.
constexpr std::size_t kPairsAhead = 8;
/// Samples of a pack that a round looks at: packs of many would take the square of that many.
constexpr std::size_t kMostLookedAt = 32;

/// A sample with its lengths beside it: packs are visited in any order.
struct Item {
  std::uint32_t sample, vision, tokens;
};

struct Load {
  std::int64_t vision = 0, tokens = 0;
};

/// One load of two packs, of which the first gives a sample and gets one that is smaller by some
/// change. Caps and so loads are far below 2^31.
class Pair {
 public:
  Pair(std::int64_t first, std::int64_t second, std::int64_t cap, double weight)
      : gap_(static_cast<std::int32_t>(first - second)),
        least_(static_cast<std::int32_t>(first - cap)),
        range_(static_cast<std::uint32_t>(2 * cap - first - second)),
        weight_(weight) {}

  /// Neither pack passes the cap.
  bool allows(std::int32_t change) const {
    return static_cast<std::uint32_t>(change - least_) <= range_;
  }
  /// Half of what the sum of squares falls by.
  double gain(std::int32_t change) const {
    return static_cast<double>(change) * static_cast<double>(gap_ - change) * weight_;
  }

 private:
  std::int32_t gap_, least_;
  std::uint32_t range_;
  double weight_;
};

struct Exchange {
  double gain = 0;
  std::size_t first = 0, second = 0;  // positions of the items
};

class Leveller {
 public:
  Leveller(const metrics::SampleColumns& samples, const PackLimits& limits, int threads,
           const Packs& packs)
      : offsets_(packs.offsets), caps_(limits.caps()), threads_(threads) {
    items_.reserve(packs.samples.size());
    for (const std::uint32_t i : packs.samples) {
      items_.push_back({i, samples.vision[i], samples.tokens[i]});
    }
    loads_.resize(static_cast<std::size_t>(packs.size()));
    Load total;
    for (std::size_t p = 0; p < loads_.size(); ++p) {
      for (std::size_t i = begin(p); i < begin(p + 1); ++i) {
        loads_[p].vision += items_[i].vision;
        loads_[p].tokens += items_[i].tokens;
      }
      total.vision += loads_[p].vision;
      total.tokens += loads_[p].tokens;
    }
    const auto count = static_cast<double>(loads_.size());
    vision_weight_ = weight_of(static_cast<double>(total.vision) / count);
    token_weight_ = weight_of(static_cast<double>(total.tokens) / count);
  }

  void run() {
    std::vector<std::uint32_t> order = packs_of_several();
    for (int round = 0; round < kRounds && order.size() > 1; ++round) {
      sort_by_load(round % 4 < 2 ? &Load::tokens : &Load::vision, order);
      round_ = static_cast<std::size_t>(round);
      exchange_in_pairs(order, round % 2 == 0);
    }
  }

  void store(std::vector<std::uint32_t>& samples) const {
    for (std::size_t i = 0; i < items_.size(); ++i) samples[i] = items_[i].sample;
  }

 private:
  std::size_t begin(std::size_t pack) const { return static_cast<std::size_t>(offsets_[pack]); }

  static double weight_of(double mean) { return mean > 0 ? 1 / (mean * mean) : 0; }

  /// A pack of one sample has nothing to give but itself.
  std::vector<std::uint32_t> packs_of_several() const {
    std::vector<std::uint32_t> order;
    for (std::size_t p = 0; p < loads_.size(); ++p) {
      if (begin(p + 1) - begin(p) > 1) order.push_back(static_cast<std::uint32_t>(p));
    }
    return order;
  }

  /// By a load in 1024 steps of its cap, ties as they were: near enough for pairs.
  void sort_by_load(std::int64_t Load::*load, std::vector<std::uint32_t>& order) const {
    constexpr std::int64_t kSteps = 1024;
    const std::int64_t cap = load == &Load::tokens ? caps_.tokens : caps_.vision_units;
    const auto step = [&](std::uint32_t p) {
      return static_cast<std::size_t>(loads_[p].*load * kSteps / (cap + 1));
    };
    std::vector<std::size_t> next(kSteps + 1);
    for (const std::uint32_t p : order) ++next[step(p) + 1];
    for (std::size_t k = 1; k < next.size(); ++k) next[k] += next[k - 1];
    std::vector<std::uint32_t> sorted(order.size());
    for (const std::uint32_t p : order) sorted[next[step(p)]++] = p;
    order = std::move(sorted);
  }

  /// The heaviest with the lightest, and so on to the middle; or each of the lighter half with its
  /// like in the heavier half, so that packs meet others than their opposite.
  void exchange_in_pairs(std::span<const std::uint32_t> order, bool opposite) {
    const std::size_t half = order.size() / 2;
    const auto partner = [&](std::size_t i) {
      return order[opposite ? order.size() - 1 - i : half + i];
    };
    parallel_for(static_cast<std::int64_t>(half), kPairsPerChunk, threads_,
                 [&](std::int64_t from, std::int64_t to) {
                   for (auto i = static_cast<std::size_t>(from); i < static_cast<std::size_t>(to);
                        ++i) {
                     if (i + kPairsAhead < half) {
                       fetch(order[i + kPairsAhead]);
                       fetch(partner(i + kPairsAhead));
                     }
                     exchange(order[i], partner(i));
                   }
                 });
  }

  /// Packs lie anywhere in memory: without, most of the time is waiting for them.
  void fetch(std::size_t pack) const {
    constexpr std::size_t kItemsALine = 5;
    __builtin_prefetch(&loads_[pack], 1);
    const std::size_t last = begin(pack + 1) - 1;
    __builtin_prefetch(&items_[begin(pack)], 1);
    __builtin_prefetch(&items_[std::min(begin(pack) + kItemsALine, last)], 1);
  }

  void exchange(std::size_t p, std::size_t q) {
    const Exchange best = best_exchange(p, q);
    if (best.gain <= 0) return;
    Item& a = items_[best.first];
    Item& b = items_[best.second];
    const std::int64_t vision = std::int64_t{a.vision} - b.vision;
    const std::int64_t tokens = std::int64_t{a.tokens} - b.tokens;
    loads_[p].vision -= vision;
    loads_[p].tokens -= tokens;
    loads_[q].vision += vision;
    loads_[q].tokens += tokens;
    std::swap(a, b);
  }

  /// Of a large pack every k-th sample, others in the next round.
  std::size_t stride(std::size_t pack) const {
    return (begin(pack + 1) - begin(pack) + kMostLookedAt - 1) / kMostLookedAt;
  }

  Exchange best_exchange(std::size_t p, std::size_t q) const {
    const Pair vision(loads_[p].vision, loads_[q].vision, caps_.vision_units, vision_weight_);
    const Pair tokens(loads_[p].tokens, loads_[q].tokens, caps_.tokens, token_weight_);
    Exchange best;
    const std::size_t every = stride(p);
    const std::size_t every_other = stride(q);
    for (std::size_t i = begin(p) + round_ % every; i < begin(p + 1); i += every) {
      const Item a = items_[i];
      for (std::size_t j = begin(q) + round_ % every_other; j < begin(q + 1); j += every_other) {
        const auto more_tokens = static_cast<std::int32_t>(a.tokens - items_[j].tokens);
        const auto more_vision = static_cast<std::int32_t>(a.vision - items_[j].vision);
        if (!tokens.allows(more_tokens) || !vision.allows(more_vision)) continue;
        const double gain = vision.gain(more_vision) + tokens.gain(more_tokens);
        if (gain > best.gain) best = {gain, i, j};
      }
    }
    return best;
  }

  std::span<const std::int64_t> offsets_;
  metrics::PackCaps caps_;
  int threads_;
  std::vector<Item> items_;
  std::vector<Load> loads_;
  double vision_weight_ = 0, token_weight_ = 0;
  std::size_t round_ = 0;
};

}  // namespace

void level_packs(const metrics::SampleColumns& samples, const PackLimits& limits, int threads,
                 Packs& packs) {
  Leveller leveller(samples, limits, threads, packs);
  leveller.run();
  leveller.store(packs.samples);
}

}  // namespace omnibal::pack
