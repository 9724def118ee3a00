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

  void append_to(std::vector<SourceTotals>& rows) const {
    rows.insert(rows.end(), of_source_.begin(), of_source_.end());
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

/// One of these for each quantity of which shares are told.
template <class Sums>
struct OfEachQuantity {
  explicit OfEachQuantity(std::int64_t num_sources)
      : samples(&SourceTotals::samples, num_sources),
        vision_units(&SourceTotals::vision_units, num_sources),
        tokens(&SourceTotals::tokens, num_sources) {}
  Sums samples, vision_units, tokens;
};

struct EpochSums : OfEachQuantity<PackSums> {
  using OfEachQuantity::OfEachQuantity;
  void add_pack(const SparseTotals& pack) {
    samples.add_pack(pack);
    vision_units.add_pack(pack);
    tokens.add_pack(pack);
  }
};

/// The shares at one level, steps or windows.
struct LevelSums : OfEachQuantity<ShareSums> {
  using OfEachQuantity::OfEachQuantity;
  void add_step(const SparseTotals& step) {
    ++count;
    samples.add_step(step);
    vision_units.add_step(step);
    tokens.add_step(step);
  }
  MixLevel level(const EpochSums& epoch, std::int64_t packs_a_step) const {
    return {.count = count,
            .samples = samples.spread(epoch.samples, packs_a_step),
            .vision_units = vision_units.spread(epoch.vision_units, packs_a_step),
            .tokens = tokens.spread(epoch.tokens, packs_a_step)};
  }
  std::int64_t count = 0;
};

/// A sample and its source, fetched.
struct Member {
  std::uint16_t source = 0;
  std::uint32_t vision_units = 0;
  std::uint32_t tokens = 0;
};

/// The samples of a step, pack behind pack. They lie anywhere in memory: fetched in a loop that
/// does nothing else, many of them are on their way at once.
class StepMembers {
 public:
  void fetch(std::span<const std::int64_t> pack_ids, const GroupView& packs,
             const SourcedSamples& samples) {
    members_.clear();
    ends_.clear();
    for (const std::int64_t id : pack_ids) {
      if (id < 0) continue;
      for (const std::uint32_t i : packs[id]) {
        members_.push_back(
            {samples.source[i], samples.columns.vision[i], samples.columns.tokens[i]});
      }
      ends_.push_back(members_.size());
    }
  }

  std::size_t num_packs() const { return ends_.size(); }
  std::span<const Member> pack(std::size_t k) const {
    const std::size_t begin = k == 0 ? 0 : ends_[k - 1];
    return std::span(members_).subspan(begin, ends_[k] - begin);
  }

 private:
  std::vector<Member> members_;
  std::vector<std::size_t> ends_;
};

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

SourceMix source_mix(const StepEntries& entries, const GroupView& packs,
                     const SourcedSamples& samples) {
  const std::int64_t sources = samples.num_sources;
  const std::size_t width = entries.pack_ids.size() / static_cast<std::size_t>(entries.num_steps);
  EpochSums epoch(sources);
  LevelSums steps(sources), windows(sources);
  SparseTotals pack(sources), step(sources), window(sources);
  StepMembers members;
  SourceMix mix;
  const bool keeps_totals = entries.num_steps <= kMostStepTotals / sources;
  bool whole_window = true;
  for (std::int64_t t = 0; t < entries.num_steps; ++t) {
    members.fetch(entries.pack_ids.subspan(static_cast<std::size_t>(t) * width, width), packs,
                  samples);
    const bool whole_step = members.num_packs() == width;
    for (std::size_t k = 0; k < members.num_packs(); ++k) {
      for (const Member& m : members.pack(k)) {
        pack.add_to(m.source, {1, m.vision_units, m.tokens});
      }
      epoch.add_pack(pack);
      step.add_all(pack);
      pack.clear();
    }
    if (whole_step) steps.add_step(step);
    if (keeps_totals) step.append_to(mix.step_totals);
    whole_window &= whole_step;
    window.add_all(step);
    step.clear();
    if ((t + 1) % entries.steps_per_window != 0) continue;
    if (whole_window) windows.add_step(window);
    whole_window = true;
    window.clear();
  }
  const auto packs_a_step = static_cast<std::int64_t>(width);
  mix.steps = steps.level(epoch, packs_a_step);
  mix.windows = windows.level(epoch, packs_a_step * entries.steps_per_window);
  return mix;
}

}  // namespace omnibal::metrics
