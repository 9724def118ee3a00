// SPDX-License-Identifier: Apache-2.0
#include "omnibal/steps/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "omnibal/base/philox.h"
#include "steps/leaving_groups.h"
#include "steps/tail.h"

namespace omnibal::steps {

Status check_stream_options(const StepOptions& options) {
  OMNIBAL_RETURN_IF_ERROR(check_step_options(options));
  const std::int64_t most = kLargestStep / options.dp;
  if (options.window >= 1 && options.window <= most) return {};
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("the window of a stream must hold between 1 and {} groups", most))
      .at_key("window")
      .with_value(options.window)
      .with_limit(options.window < 1 ? std::int64_t{1} : most);
}

StreamSteps::StreamSteps(const StepOptions& options, StreamStepState state)
    : options_(options), state_(std::move(state)) {}

Result<StreamSteps> StreamSteps::create(const StepOptions& options, StreamStepState state) {
  OMNIBAL_RETURN_IF_ERROR(check_stream_options(options));
  return StreamSteps(options, std::move(state));
}

std::size_t StreamSteps::packs_in_step() const {
  return static_cast<std::size_t>(options_.micro_batches * options_.dp);
}

void StreamSteps::push(const ArrivedPack& pack) {
  std::vector<WaitingPack>& window = pack.load.vision_units > 0 ? state_.with_vision : state_.idle;
  // Not before a pack more is there: a stream of just a window is formed as a whole epoch is.
  if (window.size() == static_cast<std::size_t>(options_.window * options_.dp)) {
    group_window(window);
  }
  window.push_back({pack, 0});
}

/// Groups that leave the window become ready in random order, their ranks too.
void StreamSteps::group_window(std::vector<WaitingPack>& window) {
  const auto dp = static_cast<std::size_t>(options_.dp);
  std::vector<std::uint32_t> leaving = leaving_groups(window, options_);
  PhiloxRng rng(options_.seed, RngStream::kStreamStep,
                static_cast<std::uint32_t>(state_.groupings++));
  std::vector<std::size_t> order(leaving.size() / dp);
  std::iota(order.begin(), order.end(), std::size_t{0});
  shuffle(std::span(order), rng);
  std::vector<bool> gone(window.size());
  for (const std::size_t g : order) {
    const auto group = std::span(leaving).subspan(g * dp, dp);
    shuffle(group, rng);
    for (const std::uint32_t i : group) {
      state_.ready.push_back(window[i].pack);
      gone[i] = true;
    }
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < window.size(); ++i) {
    if (gone[i]) continue;
    window[kept] = window[i];
    ++window[kept++].groupings;
  }
  window.resize(kept);
}

/// What is in no whole step yet, in order of id; with tail policy `repeat` packs of the step before
/// behind it, up to a whole step.
std::vector<ArrivedPack> StreamSteps::take_unstepped() {
  const std::size_t step = packs_in_step();
  std::vector<ArrivedPack>& ready = state_.ready;
  const auto stepped = ready.begin() + static_cast<std::ptrdiff_t>(ready.size() / step * step);
  std::vector<ArrivedPack> rest(stepped, ready.end());
  ready.erase(stepped, ready.end());
  for (std::vector<WaitingPack>* window : {&state_.with_vision, &state_.idle}) {
    for (const WaitingPack& waiting : *window) rest.push_back(waiting.pack);
    window->clear();
  }
  std::sort(rest.begin(), rest.end(),
            [](const ArrivedPack& a, const ArrivedPack& b) { return a.id < b.id; });
  const auto before = ready.empty() ? std::span<const ArrivedPack>(state_.last_step)
                                    : std::span<const ArrivedPack>(ready).last(step);
  const std::size_t missing = (step - rest.size() % step) % step;
  if (options_.tail == Tail::kRepeat && !before.empty()) {
    rest.insert(rest.end(), before.begin(), before.begin() + static_cast<std::ptrdiff_t>(missing));
    state_.repeated_packs += static_cast<std::int64_t>(missing);
  }
  return rest;
}

Status StreamSteps::finish() {
  const bool any_step = state_.steps > 0 || has_step();
  const std::size_t unstepped =
      state_.ready.size() % packs_in_step() + state_.with_vision.size() + state_.idle.size();
  if (!any_step) {
    OMNIBAL_RETURN_IF_ERROR(start_table(static_cast<std::int64_t>(unstepped), options_));
  }
  state_.finished = true;
  const std::vector<ArrivedPack> rest = take_unstepped();
  if (rest.empty()) return {};
  if (options_.tail == Tail::kDrop && rest.size() < packs_in_step()) {
    state_.dropped_packs += static_cast<std::int64_t>(rest.size());
    return {};
  }
  std::vector<metrics::PackLoad> loads;
  for (const ArrivedPack& pack : rest) loads.push_back(pack.load);
  StepOptions options = options_;
  if (state_.groupings > 0) {
    options.seed = PhiloxRng(options_.seed, RngStream::kStreamStep,
                             static_cast<std::uint32_t>(state_.groupings))
                       .next_u64();
  }
  OMNIBAL_ASSIGN(const StepTable table, form_steps(loads, options));
  state_.zero_weight_packs += table.zero_weight_packs;
  state_.dropped_packs += table.dropped_packs;
  state_.repeated_packs += table.repeated_packs;
  for (const std::int64_t i : table.pack_ids) {
    state_.ready.push_back(i == kZeroWeightPack ? ArrivedPack{.id = kZeroWeightPack}
                                                : rest[static_cast<std::size_t>(i)]);
  }
  return {};
}

bool StreamSteps::has_step() const { return state_.ready.size() >= packs_in_step(); }

std::vector<std::int64_t> StreamSteps::take() {
  const auto end = state_.ready.begin() + static_cast<std::ptrdiff_t>(packs_in_step());
  state_.last_step.assign(state_.ready.begin(), end);
  state_.ready.erase(state_.ready.begin(), end);
  ++state_.steps;
  std::vector<std::int64_t> ids;
  for (const ArrivedPack& pack : state_.last_step) ids.push_back(pack.id);
  return ids;
}

}  // namespace omnibal::steps
