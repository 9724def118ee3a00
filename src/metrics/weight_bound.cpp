// SPDX-License-Identifier: Apache-2.0
#include "metrics/weight_bound.h"

#include <algorithm>
#include <vector>

#include "omnibal/metrics/pattern_program.h"

namespace omnibal::metrics {
namespace {

constexpr std::size_t kLevels = 64;
constexpr std::int64_t kMostVisionSteps = 63;
constexpr std::int64_t kTableEntries = 1 << 13;
constexpr std::int32_t kMostPivots = 400;

/// Sizes in steps of cap / steps, rounded down: what fits in a pack still fits, since the sum of
/// rounded parts is not above the rounded sum.
PatternProblem rounded_down(std::span<const SizeLevel> levels, const PackCaps& caps) {
  const std::int64_t vision_steps = std::min(caps.vision_units, kMostVisionSteps);
  const std::int64_t token_steps = std::min(caps.tokens, kTableEntries / (vision_steps + 1));
  PatternProblem problem{{},
                         static_cast<std::int32_t>(vision_steps),
                         static_cast<std::int32_t>(token_steps),
                         kMostPivots};
  for (const SizeLevel& level : levels) {
    const PatternType type{
        level.count, static_cast<std::int32_t>(level.vision.low * vision_steps / caps.vision_units),
        static_cast<std::int32_t>(level.tokens.low * token_steps / caps.tokens)};
    if (type.vision > 0 || type.tokens > 0) problem.types.push_back(type);
  }
  return problem;
}

/// The most that samples of one pack weigh together, each type any number of times.
std::int64_t heaviest_pack(const PatternProblem& problem,
                           const std::vector<std::int64_t>& weights) {
  const auto width = static_cast<std::size_t>(problem.token_cap) + 1;
  std::vector<std::int64_t> most((static_cast<std::size_t>(problem.vision_cap) + 1) * width);
  for (std::size_t k = 0; k < weights.size(); ++k) {
    const PatternType& type = problem.types[k];
    const std::size_t step =
        static_cast<std::size_t>(type.vision) * width + static_cast<std::size_t>(type.tokens);
    for (std::int32_t v = type.vision; v <= problem.vision_cap; ++v) {
      const std::size_t row = static_cast<std::size_t>(v) * width;
      for (std::size_t i = row + static_cast<std::size_t>(type.tokens); i < row + width; ++i) {
        most[i] = std::max(most[i], most[i - step] + weights[k]);
      }
    }
  }
  return most.back();
}

}  // namespace

std::int64_t weight_bound(std::span<SizedCount> sizes, const PackCaps& caps) {
  constexpr double kUnit = 1 << 20;
  const PatternProblem problem = rounded_down(cut_into_levels(sizes, caps, kLevels), caps);
  if (problem.types.empty()) return 0;
  std::vector<std::int64_t> weights;
  std::int64_t total = 0;
  for (const double weight : solve_patterns(problem).weights) {
    weights.push_back(static_cast<std::int64_t>(weight * kUnit + 0.5));
    total += problem.types[weights.size() - 1].count * weights.back();
  }
  const std::int64_t heaviest = heaviest_pack(problem, weights);
  return heaviest == 0 ? 0 : (total + heaviest - 1) / heaviest;
}

}  // namespace omnibal::metrics
