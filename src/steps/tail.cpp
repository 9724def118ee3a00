// SPDX-License-Identifier: Apache-2.0
#include "steps/tail.h"

#include <fmt/format.h>

#include <algorithm>
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

std::vector<std::uint32_t> shuffled_packs(std::int64_t num_packs, const StepOptions& options) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(num_packs));
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  PhiloxRng rng(options.seed, RngStream::kStepWindow);
  shuffle(std::span(order), rng);
  return order;
}

void put_first(FormedGroups& groups, const StepOptions& options) {
  if (!options.first_pack) return;
  PackIds& ids = groups.complete;
  const auto wanted = std::find(ids.begin(), ids.end(), *options.first_pack);
  if (wanted == ids.end()) return;
  const auto row = ids.begin() + (wanted - ids.begin()) / options.dp * options.dp;
  if (row != ids.begin()) std::swap_ranges(ids.begin(), ids.begin() + options.dp, row);
}

void close_groups(FormedGroups& groups, const StepOptions& options) {
  const auto dp = static_cast<std::size_t>(options.dp);
  const std::size_t outside = groups.idle.size() + groups.rest.size();
  if (options.tail == Tail::kZeroWeight) return;
  groups.idle.insert(groups.idle.end(), groups.rest.begin(), groups.rest.end());
  groups.rest = std::exchange(groups.idle, {});
  if (outside < dp) return;
  const auto end = groups.rest.begin() + static_cast<std::ptrdiff_t>(dp);
  groups.complete.insert(groups.complete.end(), groups.rest.begin(), end);
  groups.rest.erase(groups.rest.begin(), end);
}

namespace {

/// Incomplete groups as rows, zero-weight packs behind them up to a whole step.
void end_with_zero_weight(const FormedGroups& groups, StepTable& table) {
  const auto dp = static_cast<std::size_t>(table.dp);
  const auto step = static_cast<std::size_t>(packs_in_step(table));
  PackIds& ids = table.pack_ids;
  for (const PackIds* incomplete : {&groups.rest, &groups.idle}) {
    ids.insert(ids.end(), incomplete->begin(), incomplete->end());
    table.incomplete.insert(table.incomplete.end(), incomplete->begin(), incomplete->end());
    ids.resize((ids.size() + dp - 1) / dp * dp, kZeroWeightPack);
  }
  ids.resize((ids.size() + step - 1) / step * step, kZeroWeightPack);
}

/// Whole steps; the packs of the groups that fill none are left out.
void end_early(const FormedGroups& groups, StepTable& table) {
  const auto step = static_cast<std::size_t>(packs_in_step(table));
  const std::size_t kept = table.pack_ids.size() / step * step;
  const auto first_dropped = table.pack_ids.begin() + static_cast<std::ptrdiff_t>(kept);
  table.dropped.assign(first_dropped, table.pack_ids.end());
  table.dropped.insert(table.dropped.end(), groups.rest.begin(), groups.rest.end());
  table.pack_ids.resize(kept);
}

/// The incomplete group takes packs of the group before it, or its own where there is none; then
/// the rows run again from the first.
void end_with_repeats(const FormedGroups& groups, StepTable& table) {
  const auto dp = static_cast<std::size_t>(table.dp);
  const auto step = static_cast<std::size_t>(packs_in_step(table));
  PackIds& ids = table.pack_ids;
  const std::size_t complete = ids.size();
  ids.insert(ids.end(), groups.rest.begin(), groups.rest.end());
  const std::size_t given = ids.size();
  for (std::size_t i = complete > 0 ? complete - dp : 0; ids.size() % dp != 0; ++i) {
    ids.push_back(ids[i]);
  }
  const std::size_t end = (ids.size() + step - 1) / step * step;
  for (std::size_t i = 0; ids.size() < end; ++i) ids.push_back(ids[i]);
  table.repeated.assign(ids.begin() + static_cast<std::ptrdiff_t>(given), ids.end());
}

}  // namespace

void lay_out(FormedGroups groups, Tail tail, StepTable& table) {
  table.pack_ids = std::move(groups.complete);
  if (tail == Tail::kZeroWeight) end_with_zero_weight(groups, table);
  if (tail == Tail::kDrop) end_early(groups, table);
  if (tail == Tail::kRepeat) end_with_repeats(groups, table);
  const PackIds& ids = table.pack_ids;
  table.num_steps = static_cast<std::int64_t>(ids.size()) / packs_in_step(table);
  table.zero_weight_packs = std::count(ids.begin(), ids.end(), kZeroWeightPack);
  table.dropped_packs = static_cast<std::int64_t>(table.dropped.size());
  table.repeated_packs = static_cast<std::int64_t>(table.repeated.size());
}

}  // namespace omnibal::steps
