// SPDX-License-Identifier: Apache-2.0
#include "omnibal/pack/limits.h"

#include <fmt/format.h>

#include <algorithm>

namespace omnibal::pack {
namespace {

constexpr std::int64_t kPaperTokenCap = 4096;

struct Totals {
  std::int64_t samples = 0;
  std::int64_t vision = 0;
  std::int64_t tokens = 0;
  std::int64_t rounded_tokens = 0;  // each sample's up to 256, the LLM tokens of a tile
};

Totals sum_up(const metrics::SampleColumns& samples) {
  constexpr std::int64_t kTile = 256;
  Totals totals;
  totals.samples = static_cast<std::int64_t>(samples.tokens.size());
  for (const std::uint32_t vision : samples.vision) totals.vision += vision;
  for (const std::uint32_t tokens : samples.tokens) {
    totals.tokens += tokens;
    totals.rounded_tokens += (tokens + kTile - 1) / kTile * kTile;
  }
  return totals;
}

/// Tokens a vision unit, in steps of 16. Exact in integers: a // b of two means is the quotient
/// of the sums.
std::int64_t tokens_per_unit(const Totals& totals) {
  constexpr std::int64_t kStep = 16;
  const std::int64_t quotient = totals.rounded_tokens / std::max(totals.vision, totals.samples);
  return std::max(kStep, (quotient + 1) / kStep * kStep);
}

__extension__ using Wide = __int128;  // a micro-batch times the sum of all lengths

Wide ceil_div(Wide a, Wide b) { return (a + b - 1) / b; }

/// How often both caps grow until `micro_batch` mean samples fit; kLargestCap stands for more,
/// since it passes that cap already.
std::int64_t steps_to_hold(std::int64_t micro_batch, const Totals& totals, std::int64_t ratio,
                           const PackLimits& limits) {
  const Wide vision = ceil_div(Wide{micro_batch} * totals.vision, totals.samples);
  const Wide tokens = ceil_div(Wide{micro_batch} * totals.tokens, totals.samples);
  const Wide steps =
      std::max({Wide{0}, vision - limits.vision_cap, ceil_div(tokens - limits.token_cap, ratio)});
  return static_cast<std::int64_t>(std::min(steps, Wide{kLargestCap}));
}

}  // namespace

Result<PackLimits> paper_limits(const metrics::SampleColumns& samples,
                                const PaperLimitOptions& options) {
  const Totals totals = sum_up(samples);
  if (totals.samples == 0) return Error(ErrorCode::kNothingUsable, "there is no sample to pack");
  const std::int64_t ratio = tokens_per_unit(totals);
  PackLimits limits;
  limits.token_cap = options.token_cap.value_or(kPaperTokenCap);
  limits.vision_cap =
      options.vision_cap.value_or(std::max<std::int64_t>(1, limits.token_cap / ratio));
  if (!options.token_cap && !options.vision_cap) {
    if (totals.samples < options.micro_batch) {
      return Error(ErrorCode::kNoFeasibleLimits, fmt::format("{} samples cannot fill a pack of {}",
                                                             totals.samples, options.micro_batch))
          .with_hint("lower --micro-batch, or give --vision-cap and --token-cap");
    }
    const std::int64_t steps = steps_to_hold(options.micro_batch, totals, ratio, limits);
    limits.vision_cap += steps;
    limits.token_cap += steps * ratio;
  }
  if (std::max(limits.vision_cap, limits.token_cap) > kLargestCap) {
    return Error(ErrorCode::kNoFeasibleLimits,
                 fmt::format("packs of {} mean samples need caps above {}", options.micro_batch,
                             kLargestCap))
        .with_value(std::max(limits.vision_cap, limits.token_cap))
        .with_limit(kLargestCap);
  }
  return PackLimits::with_paper_floors(limits.vision_cap, limits.token_cap);
}

}  // namespace omnibal::pack
