// SPDX-License-Identifier: Apache-2.0
#include "pack/pattern_counts.h"

#include <algorithm>
#include <cmath>

#include "omnibal/metrics/pattern_program.h"
#include "omnibal/metrics/size_levels.h"
#include "pack/best_fit_counts.h"

namespace omnibal::pack {
namespace {

using metrics::SizedCount;
using metrics::SizeLevel;
using Sizes = std::vector<SizedCount>;

/// Samples of one level, ascending in size.
using Stock = std::vector<SizedCount>;

/// Steps of the program's table: vision units as they are up to 63, tokens as fine as fits.
metrics::PatternProblem make_problem(const std::vector<SizeLevel>& levels,
                                     const metrics::PackCaps& caps, double margin) {
  constexpr std::int64_t kMostVisionSteps = 63;
  constexpr std::int64_t kTableEntries = 1 << 14;
  const std::int64_t vision_steps = std::min(caps.vision_units, kMostVisionSteps);
  const std::int64_t token_steps = std::min(caps.tokens, kTableEntries / (vision_steps + 1));
  const auto steps = [](double size, std::int64_t per_cap, double cap) {
    return static_cast<std::int32_t>(std::min(
        std::floor(size / cap * static_cast<double>(per_cap) + 0.5), static_cast<double>(per_cap)));
  };
  metrics::PatternProblem problem;
  problem.vision_cap = static_cast<std::int32_t>(vision_steps);
  problem.token_cap = static_cast<std::int32_t>(token_steps);
  for (const SizeLevel& level : levels) {
    // Samples of one length do not differ from their mean.
    const double used = level.tokens.spread() > 0 ? 1 - margin : 1;
    metrics::PatternType type{
        level.count, steps(level.vision.mean, vision_steps, static_cast<double>(caps.vision_units)),
        steps(level.tokens.mean, token_steps, static_cast<double>(caps.tokens) * used)};
    if (type.vision == 0 && type.tokens == 0) type.tokens = 1;
    problem.types.push_back(type);
  }
  return problem;
}

/// With few samples a level, copies of patterns are mostly fractions and of no use.
std::size_t levels_for(const ClassCounts& counts, std::size_t wanted) {
  constexpr std::int64_t kSamplesPerLevel = 48;
  constexpr std::int64_t kFewest = 6;
  std::int64_t samples = 0;
  for (const std::int64_t count : counts) samples += count;
  return static_cast<std::size_t>(
      std::clamp(samples / kSamplesPerLevel, kFewest, static_cast<std::int64_t>(wanted)));
}

class PatternPacker {
 public:
  PatternPacker(const SampleClasses& classes, const metrics::PackCaps& caps, CountedPacks& packs)
      : classes_(classes), caps_(caps), packs_(packs), left_over_(classes.size()) {}

  void run(const ClassCounts& counts, const PatternOptions& options) {
    Sizes sizes;
    for (std::size_t c = 0; c < counts.size(); ++c) {
      if (counts[c] == 0) continue;
      sizes.push_back(
          {classes_.vision[c], classes_.tokens[c], counts[c], static_cast<std::uint32_t>(c)});
    }
    if (sizes.empty()) return;
    const auto levels = metrics::cut_into_levels(sizes, caps_, levels_for(counts, options.levels));
    const auto solution = metrics::solve_patterns(make_problem(levels, caps_, options.margin));
    for (const SizeLevel& level : levels) stocks_.push_back(stock_of(sizes, level));
    for (const metrics::Pattern& pattern : solution.patterns) use(pattern);
    for (const Stock& stock : stocks_) {
      for (const SizedCount& rest : stock) left_over_[rest.id] += rest.count;
    }
    place_best_fit(classes_, left_over_, caps_, SizeOrder::kLargerShare, packs_);
  }

 private:
  double relative_size(std::uint32_t vision, std::uint32_t tokens) const {
    return static_cast<double>(vision) / static_cast<double>(caps_.vision_units) +
           static_cast<double>(tokens) / static_cast<double>(caps_.tokens);
  }

  Stock stock_of(const Sizes& sizes, const SizeLevel& level) const {
    Stock stock(sizes.begin() + static_cast<std::ptrdiff_t>(level.begin),
                sizes.begin() + static_cast<std::ptrdiff_t>(level.end));
    std::sort(stock.begin(), stock.end(), [this](const SizedCount& a, const SizedCount& b) {
      const double size_a = relative_size(a.vision, a.tokens);
      const double size_b = relative_size(b.vision, b.tokens);
      return size_a != size_b ? size_a < size_b : a.id < b.id;
    });
    return stock;
  }

  /// As many packs of the pattern as whole copies and stock allow.
  void use(const metrics::Pattern& pattern) {
    constexpr double kRounding = 1e-6;
    auto copies = static_cast<std::int64_t>(std::floor(pattern.copies + kRounding));
    for (std::size_t k = 0; k < stocks_.size(); ++k) {
      if (pattern.numbers[k] == 0) continue;
      std::int64_t held = 0;
      for (const SizedCount& run : stocks_[k]) held += run.count;
      copies = std::min(copies, held / pattern.numbers[k]);
    }
    if (copies == 0) return;
    std::vector<Stock> slots;
    for (std::size_t k = 0; k < stocks_.size(); ++k) {
      for (std::int32_t i = 0; i < pattern.numbers[k]; ++i) slots.push_back(draw(k, copies));
    }
    fill(std::move(slots), copies);
  }

  /// `need` samples of a level, evenly from its small and its large ones.
  Stock draw(std::size_t level, std::int64_t need) {
    Stock& stock = stocks_[level];
    std::int64_t held = 0;
    for (const SizedCount& run : stock) held += run.count;
    const double share = static_cast<double>(need) / static_cast<double>(held);
    Stock drawn;
    std::int64_t passed = 0;
    std::int64_t taken = 0;
    for (SizedCount& run : stock) {
      passed += run.count;
      const std::int64_t due =
          passed == held ? need : static_cast<std::int64_t>(static_cast<double>(passed) * share);
      SizedCount part = run;
      part.count = std::clamp<std::int64_t>(due - taken, 0, run.count);
      taken += part.count;
      run.count -= part.count;
      if (part.count > 0) drawn.push_back(part);
    }
    std::erase_if(stock, [](const SizedCount& run) { return run.count == 0; });
    return drawn;
  }

  /// Packs one sample of each slot together. The slots of widest spread come first; each next slot
  /// gives its smallest samples to the fullest packs, so that sums draw together.
  void fill(std::vector<Stock> slots, std::int64_t copies) {
    std::stable_sort(slots.begin(), slots.end(),
                     [this](const Stock& a, const Stock& b) { return spread(a) > spread(b); });
    std::vector<PackGroup> groups = {{.count = copies}};
    for (const Stock& slot : slots) {
      groups = with_slot(groups, slot);
      std::stable_sort(
          groups.begin(), groups.end(), [this](const PackGroup& a, const PackGroup& b) {
            return relative_size(a.vision, a.tokens) > relative_size(b.vision, b.tokens);
          });
    }
    packs_.groups.insert(packs_.groups.end(), groups.begin(), groups.end());
  }

  double spread(const Stock& slot) const {
    return relative_size(slot.back().vision, slot.back().tokens) -
           relative_size(slot.front().vision, slot.front().tokens);
  }

  /// `groups`, fullest first, with a sample of `slot`, smallest first, in each pack. A sample that
  /// does not fit is left over.
  std::vector<PackGroup> with_slot(const std::vector<PackGroup>& groups, const Stock& slot) {
    std::vector<PackGroup> grown;
    auto run = slot.begin();
    std::int64_t used = 0;
    for (const PackGroup& group : groups) {
      for (std::int64_t packs = group.count; packs > 0;) {
        const std::int64_t both = std::min(packs, run->count - used);
        if (room_for(group, caps_, classes_, run->id, 1) > 0) {
          grown.push_back(packs_.grown(group, both, classes_, run->id, 1));
        } else {
          grown.push_back(group);
          grown.back().count = both;
          left_over_[run->id] += both;
        }
        packs -= both;
        used += both;
        if (used == run->count) {
          ++run;
          used = 0;
        }
      }
    }
    return grown;
  }

  const SampleClasses& classes_;
  metrics::PackCaps caps_;
  CountedPacks& packs_;
  ClassCounts left_over_;
  std::vector<Stock> stocks_;  // by level
};

}  // namespace

void place_patterns(const SampleClasses& classes, const ClassCounts& counts,
                    const metrics::PackCaps& caps, const PatternOptions& options,
                    CountedPacks& packs) {
  PatternPacker(classes, caps, packs).run(counts, options);
}

}  // namespace omnibal::pack
