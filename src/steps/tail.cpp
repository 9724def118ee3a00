// SPDX-License-Identifier: Apache-2.0
#include "steps/tail.h"

#include <fmt/format.h>

#include <array>
#include <numeric>
#include <utility>

#include "omnibal/base/name_table.h"
#include "omnibal/base/philox.h"

namespace omnibal::steps {
namespace {

constexpr std::array kTails = {Named{Tail::kZeroWeight, "zero-weight"}, Named{Tail::kDrop, "drop"},
                               Named{Tail::kRepeat, "repeat"}};

Error too_small(std::string_view key, std::int64_t value, std::int64_t min) {
  return Error(ErrorCode::kInvalidArgument, fmt::format("{} must be at least {}", key, min))
      .at_key(std::string(key))
      .with_value(value)
      .with_limit(min);
}

std::int64_t packs_in_step(const StepTable& table) { return table.micro_batches * table.dp; }

}  // namespace

std::string_view to_string(Tail tail) { return name_in(kTails, tail); }

Result<Tail> parse_tail(std::string_view name) {
  return parse_name(kTails, "tail policy", "tail", name);
}

Status check_step_options(const StepOptions& options) {
  if (options.dp < 1) return too_small("dp", options.dp, 1);
  if (options.micro_batches < 1) return too_small("micro_batches", options.micro_batches, 1);
  if (options.window < 0) return too_small("window", options.window, 0);
  if (options.dp > kLargestStep || options.micro_batches > kLargestStep / options.dp) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("a step of {} micro-batches on {} ranks is too large",
                             options.micro_batches, options.dp))
        .at_key("micro_batches")
        .with_value(options.micro_batches)
        .with_limit(kLargestStep);
  }
  return {};
}

Result<StepTable> start_table(std::int64_t num_packs, const StepOptions& options) {
  OMNIBAL_RETURN_IF_ERROR(check_step_options(options));
  StepTable table;
  table.dp = options.dp;
  table.micro_batches = options.micro_batches;
  if (num_packs < 1) return Error(ErrorCode::kNothingUsable, "there is no pack to deal");
  if (options.tail == Tail::kDrop && num_packs < packs_in_step(table)) {
    return Error(ErrorCode::kNothingUsable,
                 fmt::format("with tail policy drop a step needs {} packs, there are {}",
                             packs_in_step(table), num_packs))
        .at_key("tail")
        .with_value(num_packs)
        .with_limit(packs_in_step(table))
        .with_hint("use tail policy zero-weight or repeat, or fewer micro-batches");
  }
  return table;
}

std::vector<std::int64_t> shuffled_packs(std::int64_t num_packs, const StepOptions& options) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(num_packs));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  PhiloxRng rng(options.seed, RngStream::kStepWindow, options.epoch);
  shuffle(std::span(order), rng);
  return order;
}

void apply_tail(Tail tail, std::vector<std::int64_t>& order, StepTable& table) {
  const auto step = static_cast<std::size_t>(packs_in_step(table));
  const std::size_t given = order.size();
  const std::size_t behind_last_step = given % step;
  if (tail == Tail::kZeroWeight || behind_last_step == 0) return;
  if (tail == Tail::kDrop) {
    order.resize(given - behind_last_step);
    table.dropped_packs = static_cast<std::int64_t>(behind_last_step);
    return;
  }
  const std::size_t missing = step - behind_last_step;
  order.reserve(given + missing);
  for (std::size_t i = 0; i < missing; ++i) order.push_back(order[i % given]);
  table.repeated_packs = static_cast<std::int64_t>(missing);
}

void fill_table(std::vector<std::int64_t> order, StepTable& table) {
  const auto given = static_cast<std::int64_t>(order.size());
  const std::int64_t step = packs_in_step(table);
  table.num_steps = (given + step - 1) / step;
  order.resize(static_cast<std::size_t>(table.num_steps * step), kZeroWeightPack);
  for (const std::int64_t pack : order) table.zero_weight_packs += pack == kZeroWeightPack ? 1 : 0;
  table.pack_ids = std::move(order);
}

}  // namespace omnibal::steps
