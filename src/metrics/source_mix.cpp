// SPDX-License-Identifier: Apache-2.0
#include "omnibal/metrics/source_mix.h"

#include <algorithm>
#include <cmath>

namespace omnibal::metrics {
namespace {

void add(SourceTotals& totals, const SourceTotals& more) {
  totals.samples += more.samples;
  totals.vision_units += more.vision_units;
  totals.tokens += more.tokens;
}

SourceTotals totals_of(const SourcedSamples& samples, std::size_t sample) {
  return {1, samples.columns.vision[sample], samples.columns.tokens[sample]};
}

/// Totals of few among many sources: emptied in the time of what is in it.
class SparseTotals {
 public:
  explicit SparseTotals(std::int64_t num_sources)
      : of_source_(static_cast<std::size_t>(num_sources)) {}

  void add_to(std::size_t source, const SourceTotals& more) {
    if (of_source_[source].samples == 0) touched_.push_back(source);
    add(of_source_[source], more);
    add(all_, more);
  }
  void add_all(const SparseTotals& more) {
    for (const std::size_t source : more.touched_) add_to(source, more.of_source_[source]);
  }
  void clear() {
    for (const std::size_t source : touched_) of_source_[source] = {};
    touched_.clear();
    all_ = {};
  }

  std::span<const std::size_t> touched() const { return touched_; }
  const SourceTotals& operator[](std::size_t source) const { return of_source_[source]; }
  const SourceTotals& all() const { return all_; }

 private:
  std::vector<SourceTotals> of_source_;
  std::vector<std::size_t> touched_;
  SourceTotals all_;
};

using Quantity = std::int64_t SourceTotals::*;

/// Sums over packs from which the spread of randomly dealt steps follows.
class PackSums {
 public:
  PackSums(Quantity quantity, std::int64_t num_sources)
      : quantity_(quantity), of_source_(static_cast<std::size_t>(num_sources)) {}

  void add_pack(const SparseTotals& pack) {
    const auto all = static_cast<double>(pack.all().*quantity_);
    ++num_packs_;
    sum_ += all;
    squares_ += all * all;
    for (const std::size_t source : pack.touched()) {
      const auto part = static_cast<double>(pack[source].*quantity_);
      of_source_[source].sum += part;
      of_source_[source].squares += part * part;
      of_source_[source].products += part * all;
    }
  }

  double share(std::size_t source) const { return sum_ > 0 ? of_source_[source].sum / sum_ : 0; }

  /// Of the shares of `size` packs dealt at random.
  double random_std(std::size_t source, double size) const {
    if (num_packs_ < 2 || sum_ == 0 || size > num_packs_) return 0;
    const Sums& own = of_source_[source];
    const double r = share(source);
    const double residuals = own.squares - 2 * r * own.products + r * r * squares_;
    const double mean = sum_ / num_packs_;
    const double variance =
        (1 - size / num_packs_) / size * std::max(0.0, residuals) / (num_packs_ - 1);
    return std::sqrt(variance) / mean;
  }

 private:
  struct Sums {
    double sum = 0, squares = 0, products = 0;
  };
  Quantity quantity_;
  double num_packs_ = 0, sum_ = 0, squares_ = 0;
  std::vector<Sums> of_source_;
};

/// Shares of steps (or windows), added one by one.
class ShareSums {
 public:
  ShareSums(Quantity quantity, std::int64_t num_sources)
      : quantity_(quantity), of_source_(static_cast<std::size_t>(num_sources)) {}

  void add_step(const SparseTotals& step) {
    ++count_;
    const auto all = static_cast<double>(step.all().*quantity_);
    for (const std::size_t source : step.touched()) {
      const double share = all > 0 ? static_cast<double>(step[source].*quantity_) / all : 0;
      Sums& sums = of_source_[source];
      ++sums.steps;
      sums.shares += share;
      sums.squares += share * share;
      sums.min = std::min(sums.min, share);
      sums.max = std::max(sums.max, share);
    }
  }

  MixSpread spread(const PackSums& epoch, std::int64_t packs_a_step) const {
    MixSpread result;
    double variance = 0;
    double random_variance = 0;
    for (std::size_t source = 0; source < of_source_.size(); ++source) {
      ShareSpread spread = spread_of(source, epoch.share(source));
      spread.random_std = epoch.random_std(source, static_cast<double>(packs_a_step));
      variance += spread.std * spread.std;
      random_variance += spread.random_std * spread.random_std;
      result.sources.push_back(spread);
      const double deviation = std::max(spread.max - spread.share, spread.share - spread.min);
      if (count_ == 0 || deviation <= result.largest_deviation) continue;
      result.largest_deviation = deviation;
      result.deviating_source = static_cast<std::int64_t>(source);
    }
    if (random_variance > 0) result.against_random = std::sqrt(variance / random_variance);
    return result;
  }

 private:
  struct Sums {
    std::int64_t steps = 0;  // in which the source is
    double shares = 0, squares = 0;
    double min = 1, max = 0;
  };

  ShareSpread spread_of(std::size_t source, double share) const {
    ShareSpread spread{.share = share};
    if (count_ == 0) return spread;
    const Sums& sums = of_source_[source];
    const auto count = static_cast<double>(count_);
    spread.mean = sums.shares / count;
    spread.std = std::sqrt(std::max(0.0, sums.squares / count - spread.mean * spread.mean));
    spread.min = sums.steps < count_ ? 0 : sums.min;
    spread.max = sums.max;
    return spread;
  }

  Quantity quantity_;
  std::int64_t count_ = 0;
  std::vector<Sums> of_source_;
};

/// Both shares at one level, steps or windows.
class LevelSums {
 public:
  explicit LevelSums(std::int64_t num_sources)
      : samples_(&SourceTotals::samples, num_sources),
        tokens_(&SourceTotals::tokens, num_sources) {}

  void add_step(const SparseTotals& step) {
    ++count_;
    samples_.add_step(step);
    tokens_.add_step(step);
  }
  MixLevel level(const PackSums& samples, const PackSums& tokens, std::int64_t packs) const {
    return {count_, samples_.spread(samples, packs), tokens_.spread(tokens, packs)};
  }

 private:
  std::int64_t count_ = 0;
  ShareSums samples_, tokens_;
};

void add_pack(SparseTotals& pack, std::span<const std::uint32_t> members,
              const SourcedSamples& samples) {
  for (const std::uint32_t sample : members) {
    pack.add_to(samples.source[sample], totals_of(samples, sample));
  }
}

}  // namespace

std::vector<SourceTotals> source_totals(const SourcedSamples& samples) {
  std::vector<SourceTotals> totals(static_cast<std::size_t>(samples.num_sources));
  for (std::size_t i = 0; i < samples.source.size(); ++i) {
    add(totals[samples.source[i]], totals_of(samples, i));
  }
  return totals;
}

std::vector<SourceTotals> source_totals(const SourcedSamples& samples,
                                        std::span<const std::uint32_t> members) {
  std::vector<SourceTotals> totals(static_cast<std::size_t>(samples.num_sources));
  for (const std::uint32_t i : members) add(totals[samples.source[i]], totals_of(samples, i));
  return totals;
}

std::vector<SourceTotals> step_mix(std::span<const std::int64_t> pack_ids, std::int64_t num_steps,
                                   const GroupView& packs, const SourcedSamples& samples) {
  const auto sources = static_cast<std::size_t>(samples.num_sources);
  std::vector<SourceTotals> rows(static_cast<std::size_t>(num_steps) * sources);
  const std::size_t width = pack_ids.size() / static_cast<std::size_t>(num_steps);
  for (std::size_t i = 0; i < pack_ids.size(); ++i) {
    if (pack_ids[i] < 0) continue;
    const auto row = std::span(rows).subspan(i / width * sources, sources);
    for (const std::uint32_t sample : packs[pack_ids[i]]) {
      add(row[samples.source[sample]], totals_of(samples, sample));
    }
  }
  return rows;
}

SourceMix source_mix(const StepEntries& entries, const GroupView& packs,
                     const SourcedSamples& samples) {
  const std::int64_t sources = samples.num_sources;
  const std::size_t width = entries.pack_ids.size() / static_cast<std::size_t>(entries.num_steps);
  PackSums pack_samples(&SourceTotals::samples, sources);
  PackSums pack_tokens(&SourceTotals::tokens, sources);
  LevelSums steps(sources), windows(sources);
  SparseTotals pack(sources), step(sources), window(sources);
  bool whole_window = true;
  for (std::int64_t t = 0; t < entries.num_steps; ++t) {
    bool whole_step = true;
    for (const std::int64_t id :
         entries.pack_ids.subspan(static_cast<std::size_t>(t) * width, width)) {
      whole_step &= id >= 0;
      if (id < 0) continue;
      add_pack(pack, packs[id], samples);
      pack_samples.add_pack(pack);
      pack_tokens.add_pack(pack);
      step.add_all(pack);
      pack.clear();
    }
    if (whole_step) steps.add_step(step);
    whole_window &= whole_step;
    window.add_all(step);
    step.clear();
    if ((t + 1) % entries.steps_per_window != 0) continue;
    if (whole_window) windows.add_step(window);
    whole_window = true;
    window.clear();
  }
  const auto packs_a_step = static_cast<std::int64_t>(width);
  return {steps.level(pack_samples, pack_tokens, packs_a_step),
          windows.level(pack_samples, pack_tokens, packs_a_step * entries.steps_per_window)};
}

}  // namespace omnibal::metrics
