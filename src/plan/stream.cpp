// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "omnibal/base/philox.h"
#include "omnibal/metrics/occupancy.h"
#include "omnibal/plan/pack_time.h"

namespace omnibal::plan {
namespace {

/// Rows in which every rank runs a pack.
std::int64_t full_rows(const metrics::RankGrid& grid) {
  std::int64_t full = 0;
  for (auto row = grid.packs.begin(); row != grid.packs.end(); row += grid.dp) {
    full += std::none_of(row, row + grid.dp, [](std::int64_t pack) { return pack < 0; }) ? 1 : 0;
  }
  return full;
}

void add(metrics::DistRatios& sum, const metrics::DistRatios& mean, double times) {
  sum.vision += mean.vision * times;
  sum.tokens += mean.tokens * times;
  sum.attention += mean.attention * times;
  sum.time += mean.time * times;
}

}  // namespace

std::uint64_t fold(std::uint64_t fingerprint, const pack::StreamSample& sample) {
  constexpr std::uint64_t kOddMultiplier = 0x9e3779b97f4a7c15;
  constexpr int kHalf = 32;
  const auto id = static_cast<std::uint64_t>(sample.id);
  for (const std::uint64_t word :
       {id, (std::uint64_t{sample.vision} << kHalf) | std::uint64_t{sample.tokens}}) {
    fingerprint = (fingerprint ^ word) * kOddMultiplier;
    fingerprint ^= fingerprint >> kHalf;
  }
  return fingerprint;
}

StreamPlanner::StreamPlanner(const StreamOptions& options, pack::StreamPacker packer,
                             steps::StreamSteps steps, StreamState state)
    : options_(options),
      packer_(std::move(packer)),
      steps_(std::move(steps)),
      state_(std::move(state)) {}

Result<StreamPlanner> StreamPlanner::create(const StreamOptions& options, StreamState state) {
  pack::StreamPackOptions packing = options.packing;
  packing.automatic.predicted_time = step_time_of_packs(kUsualSteps, options.steps.forward);
  OMNIBAL_ASSIGN(pack::StreamPacker packer,
                 pack::StreamPacker::create(packing, std::exchange(state.packing, {})));
  OMNIBAL_ASSIGN(steps::StreamSteps steps,
                 steps::StreamSteps::create(options.steps, std::exchange(state.steps, {})));
  return StreamPlanner(options, std::move(packer), std::move(steps), std::move(state));
}

Result<std::optional<pack::StreamRejection>> StreamPlanner::push(const pack::StreamSample& sample) {
  std::vector<pack::StreamedPack> packs;
  OMNIBAL_ASSIGN(const auto rejection, packer_.push(sample, packs));
  state_.fingerprint = fold(state_.fingerprint, sample);
  state_.totals.rejected += rejection ? 1 : 0;
  if (!packs.empty()) hold(std::move(packs));
  state_.totals.peak_samples =
      std::max(state_.totals.peak_samples,
               state_.held_samples + static_cast<std::int64_t>(packer_.state().waiting.size()));
  return rejection;
}

Status StreamPlanner::finish() {
  const std::int64_t given = packer_.state().samples;
  if (given == state_.totals.rejected) {
    return Error(ErrorCode::kNothingUsable, fmt::format("0 of {} samples are usable", given));
  }
  std::vector<pack::StreamedPack> packs;
  packer_.finish(packs);
  hold(std::move(packs));
  return steps_.finish();
}

/// Gives the packs of a window their ids and hands them on in random order: a packer makes the
/// easy ones first.
void StreamPlanner::hold(std::vector<pack::StreamedPack> packs) {
  const metrics::PackCaps caps = options_.packing.limits.caps();
  const std::int64_t multiple = options_.packing.limits.token_multiple;
  std::vector<steps::ArrivedPack> order;
  for (pack::StreamedPack& pack : packs) {
    const metrics::PackLoad& load = pack.load;
    order.push_back({.id = state_.totals.packs++, .load = load});
    state_.totals.vision_units += load.vision_units;
    state_.totals.tokens += load.tokens;
    state_.totals.padding += (multiple - load.tokens % multiple) % multiple;
    state_.totals.over_cap += metrics::count_over_cap({&load, 1}, caps);
    state_.held_samples += static_cast<std::int64_t>(pack.samples.size());
    ++state_.held_packs;
    state_.packs.push_back({std::move(pack), false});
  }
  state_.totals.peak_packs = std::max(state_.totals.peak_packs, state_.held_packs);
  PhiloxRng rng(options_.steps.seed, RngStream::kStreamOrder,
                static_cast<std::uint32_t>(packer_.state().windows));
  shuffle(std::span(order), rng);
  for (const steps::ArrivedPack& pack : order) steps_.push(pack);
}

StreamStep StreamPlanner::take() {
  const std::vector<steps::ArrivedPack> before = steps_.state().last_step;
  StreamStep step;
  step.step = steps_.state().steps;
  for (const std::int64_t id : steps_.take()) {
    if (id == steps::kZeroWeightPack) {
      step.packs.emplace_back();
      continue;
    }
    HeldPack& pack = held(id);
    step.packs.push_back(pack.pack);
    if (std::exchange(pack.has_run, true)) {
      state_.totals.duplicated += static_cast<std::int64_t>(pack.pack.samples.size());
    }
  }
  count(step);
  // The step before the last ones may run again; what these run is decided.
  if (!steps_.state().finished) release(before);
  return step;
}

void StreamPlanner::count(const StreamStep& step) {
  std::vector<std::int64_t> ids;
  std::vector<metrics::PackLoad> loads;
  std::int64_t samples = 0;
  for (const pack::StreamedPack& pack : step.packs) {
    ids.push_back(pack.samples.empty() ? -1 : static_cast<std::int64_t>(ids.size()));
    loads.push_back(pack.load);
    samples += static_cast<std::int64_t>(pack.samples.size());
  }
  StreamTotals& totals = state_.totals;
  totals.samples_in_steps += samples;
  totals.squared_step_samples += samples * samples;
  const metrics::RankGrid grid{ids, options_.steps.dp};
  const std::int64_t rows = full_rows(grid);
  totals.balanced_rows += rows;
  add(totals.dist_sum, metrics::dist_ratios(grid, loads, options_.steps.forward),
      static_cast<double>(rows));
}

void StreamPlanner::release(const std::vector<steps::ArrivedPack>& packs) {
  for (const steps::ArrivedPack& pack : packs) {
    std::vector<std::int64_t>& samples = held(pack.id).pack.samples;
    state_.held_samples -= static_cast<std::int64_t>(samples.size());
    --state_.held_packs;
    samples = {};
  }
  while (!state_.packs.empty() && state_.packs.front().pack.samples.empty()) {
    state_.packs.pop_front();
    ++state_.first_pack;
  }
}

StreamState StreamPlanner::state() const {
  StreamState state = state_;
  state.packing = packer_.state();
  state.steps = steps_.state();
  return state;
}

}  // namespace omnibal::plan
