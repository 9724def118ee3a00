// SPDX-License-Identifier: Apache-2.0
#include "omnibal/pack/auto.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "omnibal/base/parallel.h"
#include "omnibal/pack/isf.h"
#include "omnibal/pack/levelling.h"
#include "pack/best_fit_counts.h"
#include "pack/counted_packs.h"
#include "pack/pattern_counts.h"
#include "pack/repair.h"

namespace omnibal::pack {
namespace {

/// Times within this factor count as equal.
constexpr double kEqualTimes = 1 + 1.0 / 2000;

enum class Start { kIsf, kBestFit, kPatterns };

struct Recipe {
  Start start;
  std::uint64_t more_seed = 0;  // ISF
  PatternOptions patterns = {};
  bool repaired = false;
};

/// Levelled packs may be predicted to take this much longer: the prediction sees ranks that wait
/// for each other, not stages that wait for a heavy micro-batch, which costs several times that.
constexpr double kLevelledTimes = 1 + 1.0 / 200;

/// Packs that are judged, drawn evenly: of half a million the mean time is known to 1/10000.
constexpr std::size_t kMostJudged = std::size_t{1} << 19;

double judge_packs(const PackEvaluator& predicted_time, std::vector<metrics::PackLoad> loads) {
  if (!predicted_time) return 0;
  const std::size_t all = loads.size();
  const std::size_t every = (all + kMostJudged - 1) / kMostJudged;
  if (every == 1) return predicted_time(loads);
  std::size_t drawn = 0;
  for (std::size_t p = 0; p < all; p += every) loads[drawn++] = loads[p];
  loads.resize(drawn);
  return predicted_time(loads) * static_cast<double>(all) / static_cast<double>(drawn);
}

/// What is tried for an input of this size, and nothing but its size decides.
std::vector<Recipe> recipes_for(std::size_t num_samples, const AutoOptions& options) {
  // The first two set the limit on packs.
  std::vector<Recipe> recipes = {{.start = Start::kIsf},
                                 {.start = Start::kBestFit},
                                 {.start = Start::kPatterns, .repaired = true}};
  if (num_samples > options.large_input) return recipes;
  recipes.push_back({.start = Start::kBestFit, .repaired = true});
  recipes.push_back({.start = Start::kPatterns,
                     .patterns = {.levels = 96, .margin = 1.0 / 256},
                     .repaired = true});
  const bool small = num_samples <= options.small_input;
  if (small) {
    recipes.push_back({.start = Start::kPatterns,
                       .patterns = {.levels = 24, .margin = 1.0 / 256},
                       .repaired = true});
  }
  for (std::uint64_t more = 1; more <= (small ? 3 : 1); ++more) {
    recipes.push_back({.start = Start::kIsf, .more_seed = more});
  }
  return recipes;
}

/// Packs as samples (ISF) or as counts (all others).
struct Candidate {
  Packs packs;
  CountedPacks counted;
  std::int64_t size = 0;
  double time = std::numeric_limits<double>::max();
};

class Portfolio {
 public:
  Portfolio(const metrics::SampleColumns& samples, std::span<const std::uint32_t> accepted,
            const PackLimits& limits, std::uint64_t seed, const AutoOptions& options)
      : samples_(samples),
        accepted_(accepted),
        limits_(limits),
        seed_(seed),
        options_(options),
        recipes_(recipes_for(accepted.size(), options)),
        classes_(classify(samples, accepted, seed)),
        candidates_(recipes_.size()) {}

  void make(const Progress& progress) {
    report(progress, "packing", 0, 1);
    parallel_for_each(recipes_.size(), options_.threads,
                      [this](std::size_t i) { candidates_[i] = make_one(recipes_[i]); });
    const std::int64_t most = std::min(candidates_[0].size, candidates_[1].size);
    for (Candidate& candidate : candidates_) {
      if (candidate.size > most) candidate = {};
    }
  }

  void judge(const Progress& progress) {
    report(progress, "comparing packs", 0, 1);
    // Loads and steps of one set of packs take as much memory as the packs themselves.
    const int threads = accepted_.size() > options_.large_input ? 1 : options_.threads;
    parallel_for_each(recipes_.size(), threads, [this](std::size_t i) {
      Candidate& candidate = candidates_[i];
      if (candidate.size == 0) return;
      candidate.time = judge_packs(options_.predicted_time, loads(i));
    });
  }

  Packs take_best() {
    const std::size_t best = best_candidate();
    Packs packs = recipes_[best].start == Start::kIsf
                      ? std::move(candidates_[best].packs)
                      : expand(candidates_[best].counted, classes_, seed_);
    const double most = candidates_[best].time * kLevelledTimes;
    candidates_.clear();
    std::vector<std::uint32_t> before = packs.samples;
    level_packs(samples_, limits_, options_.threads, packs);
    const double after =
        judge_packs(options_.predicted_time, metrics::packed_loads(packs.view(), samples_));
    if (after > most) packs.samples = std::move(before);
    return packs;
  }

 private:
  std::size_t best_candidate() const {
    double least = std::numeric_limits<double>::max();
    for (const Candidate& c : candidates_) least = std::min(least, c.time);
    std::size_t best = candidates_.size();
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      if (c.size == 0 || c.time > least * kEqualTimes) continue;
      if (best == candidates_.size() || c.size < candidates_[best].size ||
          (c.size == candidates_[best].size && c.time < candidates_[best].time)) {
        best = i;
      }
    }
    return best;
  }

  Candidate make_one(const Recipe& recipe) const {
    Candidate candidate;
    if (recipe.start == Start::kIsf) {
      candidate.packs = pack_isf(samples_, accepted_, limits_, seed_ + recipe.more_seed);
      candidate.size = candidate.packs.size();
      return candidate;
    }
    const metrics::PackCaps caps = limits_.caps();
    if (recipe.start == Start::kBestFit) {
      candidate.counted = best_fit_of_orders(classes_, caps);
    } else {
      place_patterns(classes_, all_counts(classes_), caps, recipe.patterns, candidate.counted);
    }
    if (recipe.repaired) repair(classes_, caps, candidate.counted);
    candidate.size = candidate.counted.size();
    return candidate;
  }

  std::vector<metrics::PackLoad> loads(std::size_t i) const {
    return recipes_[i].start == Start::kIsf
               ? metrics::packed_loads(candidates_[i].packs.view(), samples_)
               : expanded_loads(candidates_[i].counted, classes_, seed_);
  }

  metrics::SampleColumns samples_;
  std::span<const std::uint32_t> accepted_;
  const PackLimits& limits_;
  std::uint64_t seed_;
  const AutoOptions& options_;
  std::vector<Recipe> recipes_;
  SampleClasses classes_;
  std::vector<Candidate> candidates_;
};

}  // namespace

Packs pack_auto(const metrics::SampleColumns& samples, std::span<const std::uint32_t> accepted,
                const PackLimits& limits, std::uint64_t seed, const AutoOptions& options,
                const Progress& progress) {
  if (accepted.empty()) return {};
  Portfolio portfolio(samples, accepted, limits, seed, options);
  portfolio.make(progress);
  portfolio.judge(progress);
  return portfolio.take_best();
}

}  // namespace omnibal::pack
