// SPDX-License-Identifier: Apache-2.0
#include "steps/step_layout.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "omnibal/base/philox.h"

namespace omnibal::steps {
namespace {

Error out_of_range(std::string message, std::string key, std::int64_t value, std::int64_t limit) {
  return Error(ErrorCode::kOutOfRange, std::move(message))
      .at_key(std::move(key))
      .with_value(value)
      .with_limit(limit);
}

std::int64_t num_packs(const StepSource& source) {
  return static_cast<std::int64_t>(source.loads.size());
}

StepOptions options_for(const StepSource& source, const RankSizes& sizes) {
  StepOptions options = source.options;
  options.dp = sizes.dp;
  options.micro_batches = sizes.micro_batches;
  options.first_pack.reset();
  return options;
}

/// A seed of its own for every place where sizes can change.
std::uint64_t seed_at(std::uint64_t seed, const StepPosition& at) {
  const std::uint64_t of_epoch =
      PhiloxRng(seed, RngStream::kStepChange, static_cast<std::uint32_t>(at.epoch)).next_u64();
  return PhiloxRng(of_epoch, RngStream::kStepChange, static_cast<std::uint32_t>(at.step))
      .next_u64();
}

Result<RestOfEpoch> form_rest(const StepLayout& before, const StepSource& source,
                              const SizeChange& change) {
  RestOfEpoch rest{.epoch = change.at.epoch,
                   .first_step = change.at.step,
                   .packs = not_run(before, source, change.at),
                   .table = {}};
  std::vector<metrics::PackLoad> loads;
  loads.reserve(rest.packs.size());
  for (const std::int64_t pack : rest.packs) {
    loads.push_back(source.loads[static_cast<std::size_t>(pack)]);
  }
  StepOptions options = options_for(source, change.sizes);
  options.seed = seed_at(options.seed, change.at);
  OMNIBAL_ASSIGN(rest.table, form_steps(loads, options));
  for (std::int64_t& pack : rest.table.pack_ids) {
    if (pack != kZeroWeightPack) pack = rest.packs[static_cast<std::size_t>(pack)];
  }
  return rest;
}

Result<std::shared_ptr<const StepLayout>> changed(const StepLayout& before,
                                                  const StepSource& source,
                                                  const SizeChange& change) {
  OMNIBAL_RETURN_IF_ERROR(check_position(before, change.at));
  const auto layout = std::make_shared<StepLayout>();
  OMNIBAL_ASSIGN(layout->formed, form_steps(source.loads, options_for(source, change.sizes)));
  OMNIBAL_ASSIGN(layout->pool, group_pool(layout->formed, num_packs(source), source.options.tail));
  if (change.at.step > 0) {
    OMNIBAL_ASSIGN(layout->rest, form_rest(before, source, change));
  }
  return std::shared_ptr<const StepLayout>(layout);
}

}  // namespace

Status check_position(const StepLayout& layout, const StepPosition& at) {
  constexpr std::int64_t kLastEpoch = std::numeric_limits<std::int32_t>::max();
  if (at.epoch < 0 || at.epoch > kLastEpoch) {
    return out_of_range("there is no such epoch", "epoch", at.epoch, at.epoch < 0 ? 0 : kLastEpoch);
  }
  const std::int64_t steps = layout.steps_in(at.epoch);
  const std::int64_t first = layout.is_rest(at.epoch) ? layout.rest->first_step : 0;
  if (at.step >= first && at.step < steps) return {};
  return out_of_range(
      fmt::format("epoch {} has steps {} to {} for these sizes", at.epoch, first, steps - 1),
      "step", at.step, at.step < first ? first : steps - 1);
}

std::vector<std::int64_t> not_run(const StepLayout& layout, const StepSource& source,
                                  const StepPosition& at) {
  std::vector<bool> waits(source.loads.size(), !layout.is_rest(at.epoch));
  if (layout.is_rest(at.epoch)) {
    for (const std::int64_t pack : layout.rest->packs) waits[static_cast<std::size_t>(pack)] = true;
  }
  const auto has_run = [&waits](std::span<const std::int64_t> packs) {
    for (const std::int64_t pack : packs) {
      if (pack != kZeroWeightPack) waits[static_cast<std::size_t>(pack)] = false;
    }
  };
  const auto [dp, micro_batches] = layout.sizes();
  if (layout.is_rest(at.epoch)) {
    has_run(std::span(layout.rest->table.pack_ids)
                .first(static_cast<std::size_t>((at.step - layout.rest->first_step) * dp *
                                                micro_batches)));
  } else {
    const EpochOrder order(layout.pool,
                           {source.options.seed, static_cast<std::uint32_t>(at.epoch)});
    std::vector<std::int64_t> row(static_cast<std::size_t>(dp));
    for (std::int64_t i = 0; i < at.step * micro_batches; ++i) {
      order.row(i, row);
      has_run(row);
    }
  }
  std::vector<std::int64_t> packs;
  for (std::size_t p = 0; p < waits.size(); ++p) {
    if (waits[p]) packs.push_back(static_cast<std::int64_t>(p));
  }
  return packs;
}

Result<std::shared_ptr<const StepLayout>> layout_after(const StepSource& source,
                                                       std::span<const SizeChange> changes) {
  const auto plan = std::make_shared<StepLayout>();
  OMNIBAL_ASSIGN(plan->pool, group_pool(*source.table, num_packs(source), source.options.tail));
  std::shared_ptr<const StepLayout> layout = plan;
  StepPosition last;
  for (std::size_t c = 0; c < changes.size(); ++c) {
    if (c > 0 && changes[c].at <= last) {
      return Error(ErrorCode::kOutOfRange, "changes of sizes do not rise")
          .at_key(fmt::format("changes[{}]", c));
    }
    last = changes[c].at;
    OMNIBAL_ASSIGN(layout, changed(*layout, source, changes[c]));
  }
  return layout;
}

}  // namespace omnibal::steps
