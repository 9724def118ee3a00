// SPDX-License-Identifier: Apache-2.0
#include "cap_grid.h"

#include <algorithm>
#include <utility>

namespace omnibal::plan {
namespace {

/// Token caps are looked at in steps of this, or of the multiple that packs are padded to.
constexpr std::int64_t kTokenUnit = 64;
/// A frontier is walked over at most so many lengths of each kind.
constexpr std::size_t kMostLengths = 64;

using metrics::PackCaps;

PackCaps caps_for(const LimitProblem& problem, std::int64_t vision, std::int64_t tokens) {
  return smallest_caps(problem.task.asked, vision, tokens);
}

/// Memory alone: how many micro-batches there are hardly matters, mean samples say it.
Result<FittedPipeline> fit(const LimitProblem& problem, const PackCaps& caps) {
  return fit_pipeline(problem, problem.task.asked.rules.at(caps.vision_units, caps.tokens),
                      typical_samples_per_pack(problem, caps.vision_units, caps.tokens));
}

/// Calls visit(vision, tokens) for each usable sample.
template <class Visit>
void for_each_usable(const LimitProblem& problem, const Visit& visit) {
  for (std::size_t i = 0; i < problem.usable.tokens.size(); ++i) {
    visit(std::int64_t{problem.usable.vision[i]}, std::int64_t{problem.usable.tokens[i]});
  }
}

/// Distinct values, ascending.
template <class Value>
std::vector<std::int64_t> distinct(const std::vector<Value>& of) {
  std::vector<std::int64_t> values(of.begin(), of.end());
  std::ranges::sort(values);
  const auto rest = std::ranges::unique(values);
  values.erase(rest.begin(), rest.end());
  return values;
}

/// At most kMostLengths of them, the first and the last among them.
std::vector<std::int64_t> thinned(const std::vector<std::int64_t>& values) {
  if (values.size() <= kMostLengths) return values;
  std::vector<std::int64_t> some;
  for (std::size_t k = 0; k < kMostLengths; ++k) {
    some.push_back(values[k * (values.size() - 1) / (kMostLengths - 1)]);
  }
  return some;
}

std::int64_t held(const LimitProblem& problem, const PackCaps& largest) {
  std::int64_t count = 0;
  for_each_usable(problem, [&](std::int64_t vision, std::int64_t tokens) {
    count += vision <= largest.vision_units && tokens <= largest.tokens ? 1 : 0;
  });
  return count;
}

/// The largest of `values` that fits, given that a smaller one always does where a larger one does
/// and that `known` fits.
template <class Fits>
std::int64_t largest_that_fits(const std::vector<std::int64_t>& values, std::int64_t known,
                               const Fits& fits) {
  const auto begin = std::ranges::upper_bound(values, known);
  const auto end = std::partition_point(begin, values.end(), fits);
  return end == begin ? known : *(end - 1);
}

/// The largest sample, in both lengths, for which there is memory: of the pairs that fit and have
/// no larger that fits too, one that holds most samples. The frontier falls: fewer tokens fit with
/// more vision units, so that one walk from both ends meets it everywhere.
Result<PackCaps> largest_in_memory(const LimitProblem& problem) {
  const auto fits = [&](std::int64_t vision, std::int64_t tokens) {
    return fit(problem, caps_for(problem, vision, tokens)).ok();
  };
  const PackCaps all{std::ranges::max(problem.usable.vision),
                     std::ranges::max(problem.usable.tokens)};
  if (fits(all.vision_units, all.tokens)) return all;
  const std::vector<std::int64_t> all_visions = distinct(problem.usable.vision);
  const std::vector<std::int64_t> all_tokens = distinct(problem.usable.tokens);
  const std::vector<std::int64_t> visions = thinned(all_visions);
  const std::vector<std::int64_t> tokens = thinned(all_tokens);
  std::pair<std::int64_t, PackCaps> best{0, {}};
  std::size_t longest = 0;  // of `tokens`, how many fit
  for (auto vision = visions.rbegin(); vision != visions.rend(); ++vision) {
    while (longest < tokens.size() && fits(*vision, tokens[longest])) ++longest;
    if (longest == 0) continue;
    const PackCaps caps{*vision, tokens[longest - 1]};
    if (const std::int64_t count = held(problem, caps); count > best.first) best = {count, caps};
  }
  if (best.first == 0) {
    const PackCaps least = caps_for(problem, visions.front(), tokens.front());
    OMNIBAL_RETURN_IF_ERROR(check_least_memory(problem, least));
    return PackCaps{visions.front(), tokens.front()};
  }
  PackCaps caps = best.second;
  caps.vision_units = largest_that_fits(all_visions, caps.vision_units,
                                        [&](std::int64_t v) { return fits(v, caps.tokens); });
  caps.tokens = largest_that_fits(all_tokens, caps.tokens,
                                  [&](std::int64_t t) { return fits(caps.vision_units, t); });
  return caps;
}

/// The largest of what the caps hold: lower caps would lose it.
PackCaps largest_held(const LimitProblem& problem, const PackCaps& caps) {
  PackCaps largest{0, 0};
  for_each_usable(problem, [&](std::int64_t vision, std::int64_t tokens) {
    if (vision > caps.vision_units || tokens > caps.tokens) return;
    largest = {std::max(largest.vision_units, vision), std::max(largest.tokens, tokens)};
  });
  return largest;
}

/// Range of a cap that was not given.
CapRange range_from(std::int64_t lowest, double mean, const LimitProblem& problem,
                    std::int64_t unit) {
  const TrainingTarget& target = problem.task.target;
  const double share =
      std::min(static_cast<double>(target.global_batch) / static_cast<double>(target.sizes.dp),
               static_cast<double>(problem.usable.size()));
  const double most = std::min(share * mean, static_cast<double>(pack::kLargestCap - unit));
  const std::int64_t highest = round_up(static_cast<std::int64_t>(most) + 1, unit);
  return {lowest, std::max(lowest, highest), unit};
}

}  // namespace

std::int64_t CapRange::size() const {
  return 1 + (highest > lowest ? highest / unit - lowest / unit : 0);
}

std::int64_t CapRange::above(std::int64_t cap, std::int64_t distance) const {
  return std::min(highest, (cap + std::max(distance, unit)) / unit * unit);
}

std::int64_t CapRange::below(std::int64_t cap, std::int64_t distance) const {
  return std::max(lowest, round_up(cap - std::max(distance, unit), unit));
}

std::vector<std::int64_t> CapRange::coarse(std::int64_t parts) const {
  std::vector<std::int64_t> caps{lowest};
  while (caps.back() < highest) caps.push_back(above(caps.back(), caps.back() / parts));
  return caps;
}

std::vector<std::int64_t> CapRange::around(std::int64_t cap) const {
  std::vector<std::int64_t> caps{cap};
  for (std::int64_t distance = unit; distance <= std::max(2 * unit, cap / 8); distance *= 2) {
    caps.push_back(above(cap, distance));
    caps.push_back(below(cap, distance));
  }
  return distinct(caps);
}

Result<CapGrid> cap_grid(const LimitProblem& problem) {
  PackCaps largest = largest_held(problem, {pack::kLargestCap, pack::kLargestCap});
  if (!fit(problem, caps_for(problem, largest.vision_units, largest.tokens))) {
    OMNIBAL_ASSIGN(const PackCaps in_memory, largest_in_memory(problem));
    largest = largest_held(problem, in_memory);
  }
  const CapQuestion& asked = problem.task.asked;
  const std::int64_t multiple = asked.rules.token_multiple;
  const PackCaps lowest = caps_for(problem, largest.vision_units, largest.tokens);
  CapGrid grid{.vision = {lowest.vision_units, lowest.vision_units, 1},
               .tokens = {lowest.tokens, lowest.tokens, round_up(kTokenUnit, multiple)},
               .too_large = problem.usable.size() - held(problem, largest)};
  if (!asked.vision_cap) {
    grid.vision = range_from(lowest.vision_units, problem.mean.vision_units, problem, 1);
  }
  if (!asked.token_cap) {
    grid.tokens = range_from(lowest.tokens, problem.mean.tokens, problem, grid.tokens.unit);
  }
  return grid;
}

}  // namespace omnibal::plan
