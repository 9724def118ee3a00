// SPDX-License-Identifier: Apache-2.0
#include "omnibal/pack/limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "omnibal/pack/isf.h"

namespace omnibal::pack {
namespace {

constexpr std::int64_t kPaperTokenCap = 4096;
__extension__ using Wide = __int128;  // a micro-batch times the sum of all lengths

struct Totals {
  std::int64_t samples = 0;
  std::int64_t vision = 0;
  std::int64_t tokens = 0;
  std::int64_t rounded_tokens = 0;  // each sample's up to 256, the LLM tokens of a tile
  std::int64_t longest = 0;         // tokens
  std::int64_t widest = 0;          // vision units
};

Totals sum_up(const metrics::SampleColumns& samples) {
  constexpr std::int64_t kTile = 256;
  Totals totals;
  totals.samples = static_cast<std::int64_t>(samples.tokens.size());
  for (const std::uint32_t vision : samples.vision) {
    totals.vision += vision;
    totals.widest = std::max<std::int64_t>(totals.widest, vision);
  }
  for (const std::uint32_t tokens : samples.tokens) {
    totals.tokens += tokens;
    totals.rounded_tokens += (tokens + kTile - 1) / kTile * kTile;
    totals.longest = std::max<std::int64_t>(totals.longest, tokens);
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

Wide ceil_div(Wide a, Wide b) { return (a + b - 1) / b; }

/// Both caps growing together from a first pair.
struct Growth {
  std::int64_t vision_cap, token_cap, ratio;

  /// Steps until both caps are at least these; a huge number, but one, where that is far away.
  std::int64_t steps_to(Wide vision, Wide tokens) const {
    const Wide steps =
        std::max({Wide{0}, vision - vision_cap, ceil_div(tokens - token_cap, ratio)});
    return static_cast<std::int64_t>(std::min(steps, Wide{kLargestCap}));
  }
  std::int64_t steps_to_largest_cap() const {
    return std::min(kLargestCap - vision_cap, (kLargestCap - token_cap) / ratio);
  }
  PackLimits after(std::int64_t steps, const LimitRules& rules) const {
    return rules.at(vision_cap + steps, token_cap + steps * ratio);
  }
};

/// Whether ISF makes packs of `micro_batch` samples under these limits.
bool packs_hold(const metrics::SampleColumns& samples, const PackLimits& limits,
                const PaperLimitOptions& options) {
  const Result<Admission> admitted =
      admit(samples, limits, {.allow_empty = options.rules.allow_empty});
  if (!admitted) return false;  // no sample fits
  const Packs packs = pack_isf(samples, admitted->accepted, limits, options.seed);
  const auto placed = static_cast<std::int64_t>(admitted->accepted.size());
  return packs.size() <= static_cast<std::int64_t>(ceil_div(placed, options.micro_batch));
}

Error impossible(std::string message, const PaperLimitOptions& options) {
  return Error(ErrorCode::kNoFeasibleLimits, std::move(message))
      .at_key("--micro-batch")
      .with_value(options.micro_batch)
      .with_hint("lower --micro-batch, give --vision-cap and --token-cap, or use --limits auto");
}

/// Steps of growth until packs hold a micro-batch: lower bound, doubling, bisection.
Result<std::int64_t> steps_needed(const metrics::SampleColumns& samples, const Totals& totals,
                                  const Growth& growth, const PaperLimitOptions& options) {
  const Wide size = options.micro_batch;
  const std::int64_t first = growth.steps_to(ceil_div(size * totals.vision, totals.samples),
                                             ceil_div(size * totals.tokens, totals.samples));
  const std::int64_t most = growth.steps_to_largest_cap();
  // Any `size` samples fit after these steps: a group closes with fewer only when none is left.
  const std::int64_t last = std::min(
      most,
      growth.steps_to(size * totals.widest, size * totals.longest + options.rules.token_multiple));
  const auto enough = [&](std::int64_t steps) {
    return packs_hold(samples, growth.after(steps, options.rules), options);
  };
  const auto none = [&] {
    return impossible(
        fmt::format("no caps up to {} make packs of {} samples", kLargestCap, options.micro_batch),
        options);
  };
  if (first > most) return none();
  std::int64_t low = first - 1;  // too few
  std::int64_t high = first;
  for (std::int64_t stride = 1; !enough(high); stride *= 2) {
    if (high == last) return none();
    low = high;
    high = std::min(last, high + stride);
  }
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

Status check_target(const Totals& totals, const PaperLimitOptions& options) {
  if (totals.samples < options.micro_batch) {
    return impossible(
        fmt::format("{} samples cannot fill a pack of {}", totals.samples, options.micro_batch),
        options);
  }
  if (options.rules.max_samples.value_or(options.micro_batch) < options.micro_batch) {
    return impossible(fmt::format("packs of at most {} samples cannot hold {}",
                                  *options.rules.max_samples, options.micro_batch),
                      options);
  }
  return {};
}

}  // namespace

PackLimits LimitRules::at(std::int64_t vision_cap, std::int64_t token_cap) const {
  PackLimits limits = PackLimits::with_paper_floors(vision_cap, token_cap);
  if (vision_floor) limits.vision_floor = *vision_floor;
  if (token_floor) limits.token_floor = *token_floor;
  limits.rounds = rounds;
  limits.max_samples = max_samples.value_or(allow_empty ? token_cap : 0);
  limits.token_multiple = token_multiple;
  return limits;
}

Result<PackLimits> paper_limits(const metrics::SampleColumns& samples,
                                const PaperLimitOptions& options) {
  const Totals totals = sum_up(samples);
  if (totals.samples == 0) return Error(ErrorCode::kNothingUsable, "there is no sample to pack");
  const std::int64_t token_cap = options.token_cap.value_or(kPaperTokenCap);
  const std::int64_t ratio = tokens_per_unit(totals);
  const Growth growth{options.vision_cap.value_or(std::max<std::int64_t>(1, token_cap / ratio)),
                      token_cap, ratio};
  if (options.token_cap || options.vision_cap) return growth.after(0, options.rules);
  OMNIBAL_RETURN_IF_ERROR(check_target(totals, options));
  OMNIBAL_ASSIGN(const std::int64_t steps, steps_needed(samples, totals, growth, options));
  return growth.after(steps, options.rules);
}

}  // namespace omnibal::pack
