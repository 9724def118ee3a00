// SPDX-License-Identifier: Apache-2.0
#include "plan/step_order.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "omnibal/base/parallel.h"
#include "plan/row_times.h"

namespace omnibal::plan {
namespace {

constexpr std::int64_t kOrderedPerChunk = 4;
/// Simulated actions that the search of all steps together may take: about a second of one core.
constexpr std::int64_t kMostActions = 200'000'000;
constexpr std::int64_t kMostSwaps = 300;
/// A step that is faster by less is not: sums are rounded.
constexpr double kFaster = 1 - 1e-9;

using Order = std::vector<std::int32_t>;  // by place: the row of the step as dealt

/// Rows at the beginning of the table that may change places.
std::int64_t movable_rows(const OrderQuestion& question) {
  const steps::StepTable& table = question.dealt;
  const std::int64_t rows = table.grid().rows();
  if (question.tail == steps::Tail::kZeroWeight) {
    const auto zero = std::ranges::find(table.pack_ids, steps::kZeroWeightPack);
    return (zero - table.pack_ids.begin()) / table.dp;
  }
  if (question.tail == steps::Tail::kDrop) return rows;
  // The last complete group lends packs to the row behind it.
  const auto groups = static_cast<std::int64_t>(question.loads.size()) / table.dp;
  return std::min(rows, std::max<std::int64_t>(0, groups - 1));
}

std::int64_t swaps_a_step(const OrderQuestion& question) {
  const auto of_epoch =
      question.dealt.num_steps * static_cast<std::int64_t>(question.pipeline.schedule.steps.size());
  return std::min(kMostSwaps, kMostActions / std::max<std::int64_t>(1, of_epoch));
}

/// One step: places `first` to `last` may take each other's rows.
class StepOrder {
 public:
  StepOrder(const OrderQuestion& question, std::int64_t step)
      : question_(question), table_(question.dealt), step_(step), dealt_(packs_of_step()) {
    const std::int64_t begin = step * table_.micro_batches;
    const bool pinned =
        step == 0 && question.first_pack && std::ranges::count(row(0), *question.first_pack) > 0;
    first_ = pinned ? 1 : 0;
    last_ = std::clamp<std::int64_t>(movable_rows(question) - begin, first_, table_.micro_batches);
  }

  bool has_choice() const { return last_ - first_ > 1; }
  const std::vector<std::int64_t>& dealt() const { return dealt_; }

  std::vector<std::int64_t> light_ends() const {
    std::vector<std::int64_t> packs = dealt_;
    const auto places =
        std::span(packs).subspan(static_cast<std::size_t>(first_ * table_.dp),
                                 static_cast<std::size_t>((last_ - first_) * table_.dp));
    steps::put_light_ends_outside(places, table_.dp, question_.loads, question_.forward);
    return packs;
  }

  std::vector<std::int64_t> searched(std::int64_t swaps) const {
    RowTimes times(question_.pipeline, mean_loads());
    Order best = as_dealt();
    double best_s = times.seconds(best);
    for (const Order& rule : rules()) {
      const double seconds = times.seconds(rule);
      if (seconds >= best_s * kFaster) continue;
      best_s = seconds;
      best = rule;
    }
    return packs_in(swapped(times, std::move(best), best_s, swaps));
  }

 private:
  std::vector<std::int64_t> packs_of_step() const {
    const std::int64_t width = table_.micro_batches * table_.dp;
    const auto begin = table_.pack_ids.begin() + step_ * width;
    return {begin, begin + width};
  }
  std::span<const std::int64_t> row(std::int64_t m) const {
    return std::span(dealt_).subspan(static_cast<std::size_t>(m * table_.dp),
                                     static_cast<std::size_t>(table_.dp));
  }
  /// Of each row the mean over the ranks.
  std::vector<cost::Load> mean_loads() const {
    std::vector<cost::Load> loads;
    const double share = 1.0 / static_cast<double>(table_.dp);
    for (std::int64_t m = 0; m < table_.micro_batches; ++m) {
      cost::Load& mean = loads.emplace_back();
      for (const std::int64_t pack : row(m)) {
        if (pack == steps::kZeroWeightPack) continue;
        const cost::Load load = metrics::to_load(question_.loads[static_cast<std::size_t>(pack)]);
        mean.vision_units += share * load.vision_units;
        mean.tokens += share * load.tokens;
        mean.token_pairs += share * load.token_pairs;
      }
    }
    return loads;
  }
  Order as_dealt() const {
    Order order(static_cast<std::size_t>(table_.micro_batches));
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
  /// Light ones at both ends, lightest first, heaviest first.
  std::vector<Order> rules() const {
    const std::vector<cost::Load> loads = mean_loads();
    std::vector<double> seconds;
    for (std::int64_t m = first_; m < last_; ++m) {
      seconds.push_back(question_.forward.at(loads[static_cast<std::size_t>(m)]));
    }
    Order rising(seconds.size());
    std::iota(rising.begin(), rising.end(), 0);
    std::ranges::stable_sort(rising, {},
                             [&](std::int32_t i) { return seconds[static_cast<std::size_t>(i)]; });
    const Order falling(rising.rbegin(), rising.rend());
    std::vector<Order> rules;
    for (const Order& rule : {steps::light_ends(seconds), rising, falling}) {
      Order& order = rules.emplace_back(as_dealt());
      for (std::size_t i = 0; i < rule.size(); ++i) {
        order[static_cast<std::size_t>(first_) + i] = rule[i] + static_cast<std::int32_t>(first_);
      }
    }
    return rules;
  }
  /// Every place, from both ends inwards, swapped with every other as long as swaps are left; what
  /// makes the step faster stays.
  Order swapped(RowTimes& times, Order order, double seconds, std::int64_t swaps) const {
    for (std::int64_t k = 0; k < last_ - first_; ++k) {
      const std::int64_t place = k % 2 == 0 ? first_ + k / 2 : last_ - 1 - k / 2;
      for (std::int64_t other = first_; other < last_; ++other) {
        if (other == place) continue;
        if (swaps-- <= 0) return order;
        std::int32_t& a = order[static_cast<std::size_t>(place)];
        std::int32_t& b = order[static_cast<std::size_t>(other)];
        std::swap(a, b);
        const double swapped_s = times.seconds(order);
        if (swapped_s < seconds * kFaster) {
          seconds = swapped_s;
        } else {
          std::swap(a, b);
        }
      }
    }
    return order;
  }
  std::vector<std::int64_t> packs_in(const Order& order) const {
    std::vector<std::int64_t> packs;
    packs.reserve(dealt_.size());
    for (const std::int32_t from : order) {
      const auto ids = row(from);
      packs.insert(packs.end(), ids.begin(), ids.end());
    }
    return packs;
  }

  const OrderQuestion& question_;
  const steps::StepTable& table_;
  std::int64_t step_;
  std::vector<std::int64_t> dealt_;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
};

/// Seconds of a step that runs `packs` on all its ranks.
double seconds_of(const OrderQuestion& question, const std::vector<std::int64_t>& packs) {
  steps::StepTable one;
  one.num_steps = 1;
  one.micro_batches = question.dealt.micro_batches;
  one.dp = question.dealt.dp;
  one.pack_ids = packs;
  return step_seconds(question.pipeline, one, question.loads, 1).front();
}

/// What became of a step, and how long each rule makes it.
struct Judged {
  std::vector<std::int64_t> packs;
  double as_dealt_s = 0;
  double light_ends_s = 0;
};

Judged judge(const OrderQuestion& question, std::int64_t step, std::int64_t swaps) {
  const StepOrder order(question, step);
  Judged judged{order.dealt(), 0, 0};
  if (!order.has_choice()) return judged;
  judged.as_dealt_s = seconds_of(question, judged.packs);
  double best_s = judged.as_dealt_s;
  const auto try_packs = [&](std::vector<std::int64_t> packs) {
    const double seconds = seconds_of(question, packs);
    if (seconds < best_s * kFaster) {
      best_s = seconds;
      judged.packs = std::move(packs);
    }
    return seconds;
  };
  judged.light_ends_s = try_packs(order.light_ends());
  try_packs(order.searched(swaps));
  return judged;
}

}  // namespace

OrderedSteps order_micro_batches(const OrderQuestion& question) {
  OrderedSteps ordered{question.dealt, steps::RowOrder::kAsDealt};
  // A single stage is as fast in any order.
  if (question.pipeline.stages.size() < 2) return ordered;
  const std::int64_t num_steps = question.dealt.num_steps;
  const std::int64_t swaps = swaps_a_step(question);
  std::vector<Judged> judged(static_cast<std::size_t>(num_steps));
  parallel_for(num_steps, kOrderedPerChunk, question.threads,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t step = begin; step < end; ++step) {
                   judged[static_cast<std::size_t>(step)] = judge(question, step, swaps);
                 }
               });
  double as_dealt_s = 0;
  double light_ends_s = 0;
  auto out = ordered.table.pack_ids.begin();
  for (const Judged& step : judged) {
    out = std::ranges::copy(step.packs, out).out;
    as_dealt_s += step.as_dealt_s;
    light_ends_s += step.light_ends_s;
  }
  if (light_ends_s < as_dealt_s * kFaster) {
    ordered.later_epochs = steps::RowOrder::kLightEnds;
  }
  return ordered;
}

}  // namespace omnibal::plan
