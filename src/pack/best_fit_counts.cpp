// SPDX-License-Identifier: Apache-2.0
#include "pack/best_fit_counts.h"

#include <algorithm>

#include "pack/open_packs.h"

namespace omnibal::pack {
namespace {

/// Shares of the caps: of one sample, and of all.
class SampleSize {
 public:
  SampleSize(const SampleClasses& classes, const ClassCounts& counts, const metrics::PackCaps& caps,
             SizeOrder order)
      : caps_(caps), order_(order) {
    double vision = 0;
    double tokens = 0;
    for (std::size_t c = 0; c < counts.size(); ++c) {
      vision += static_cast<double>(counts[c] * classes.vision[c]);
      tokens += static_cast<double>(counts[c] * classes.tokens[c]);
    }
    vision /= static_cast<double>(caps.vision_units);
    tokens /= static_cast<double>(caps.tokens);
    if (vision + tokens > 0) vision_weight_ = vision / (vision + tokens);
  }

  double operator()(std::uint32_t vision, std::uint32_t tokens) const {
    const double v = static_cast<double>(vision) / static_cast<double>(caps_.vision_units);
    const double t = static_cast<double>(tokens) / static_cast<double>(caps_.tokens);
    return order_ == SizeOrder::kLargerShare
               ? std::max(v, t)
               : vision_weight_ * v * v + (1 - vision_weight_) * t * t;
  }

 private:
  metrics::PackCaps caps_;
  SizeOrder order_;
  double vision_weight_ = 0.5;
};

std::vector<std::size_t> largest_first(const SampleClasses& classes, const ClassCounts& counts,
                                       const SampleSize& size) {
  struct Sized {
    double size;
    std::size_t sample_class;
  };
  std::vector<Sized> sized;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    if (counts[c] > 0) sized.push_back({size(classes.vision[c], classes.tokens[c]), c});
  }
  std::sort(sized.begin(), sized.end(), [](const Sized& a, const Sized& b) {
    return a.size != b.size ? a.size > b.size : a.sample_class > b.sample_class;
  });
  std::vector<std::size_t> order;
  order.reserve(sized.size());
  for (const Sized& s : sized) order.push_back(s.sample_class);
  return order;
}

class BestFit {
 public:
  BestFit(const SampleClasses& classes, const metrics::PackCaps& caps, CountedPacks& packs)
      : classes_(classes), caps_(caps), packs_(packs), open_(caps) {
    for (std::uint32_t g = 0; g < packs.groups.size(); ++g) offer(g);
  }

  void place(std::size_t c, std::int64_t count) {
    while (count > 0) {
      std::uint32_t g = open_.take_tightest({classes_.vision[c], classes_.tokens[c]});
      if (g == OpenPacks::kNone) {
        g = static_cast<std::uint32_t>(packs_.open(caps_, classes_, c, count));
      }
      // A pack that has just taken a sample is the tightest for the next one like it.
      const auto next = static_cast<std::uint32_t>(packs_.groups.size());
      count -= packs_.fill(g, caps_, classes_, c, count);
      offer(g);
      for (std::uint32_t added = next; added < packs_.groups.size(); ++added) offer(added);
    }
  }

 private:
  void offer(std::uint32_t g) {
    const PackGroup& group = packs_.groups[g];
    if (caps_.samples > 0 && group.samples == caps_.samples) return;
    open_.insert(g, {static_cast<std::uint32_t>(caps_.vision_units - group.vision),
                     static_cast<std::uint32_t>(caps_.tokens - group.tokens)});
  }

  const SampleClasses& classes_;
  metrics::PackCaps caps_;
  CountedPacks& packs_;
  OpenPacks open_;
};

}  // namespace

void place_best_fit(const SampleClasses& classes, const ClassCounts& counts,
                    const metrics::PackCaps& caps, SizeOrder order, CountedPacks& packs) {
  const SampleSize size(classes, counts, caps, order);
  BestFit best_fit(classes, caps, packs);
  for (const std::size_t c : largest_first(classes, counts, size)) best_fit.place(c, counts[c]);
}

}  // namespace omnibal::pack
