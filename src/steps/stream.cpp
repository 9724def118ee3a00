// SPDX-License-Identifier: Apache-2.0
#include "omnibal/steps/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "omnibal/base/philox.h"
#include "steps/alike_groups.h"
#include "steps/tail.h"

namespace omnibal::steps {
namespace {

/// The packs of a window as groups of `dp`: each vision class by itself as far as it divides by
/// dp, the newest of the classes' packs that are too many together behind them. `pack` of the
/// result is an index into `waiting`, whose size is a multiple of dp.
std::vector<LoadedPack> group_classes(std::span<const WaitingPack> waiting, std::size_t dp) {
  std::vector<LoadedPack> packs;
  packs.reserve(waiting.size());
  for (const WaitingPack& pack : waiting) {
    packs.push_back({{pack.load.vision_units, pack.load.tokens, pack.load.token_pairs},
                     static_cast<std::int64_t>(packs.size())});
  }
  std::sort(packs.begin(), packs.end(), [](const LoadedPack& a, const LoadedPack& b) {
    return a.load[0] != b.load[0] ? a.load[0] < b.load[0] : a.pack < b.pack;
  });
  std::vector<LoadedPack> left_over;
  std::size_t grouped = 0;
  for (std::size_t begin = 0, end = 0; begin < packs.size(); begin = end) {
    for (end = begin + 1; end < packs.size() && packs[end].load[0] == packs[begin].load[0];) ++end;
    const std::size_t whole = (end - begin) / dp * dp;
    left_over.insert(left_over.end(), packs.begin() + static_cast<std::ptrdiff_t>(begin + whole),
                     packs.begin() + static_cast<std::ptrdiff_t>(end));
    std::copy_n(packs.begin() + static_cast<std::ptrdiff_t>(begin), whole,
                packs.begin() + static_cast<std::ptrdiff_t>(grouped));
    group_alike(std::span(packs).subspan(grouped, whole), dp);
    grouped += whole;
  }
  std::copy(left_over.begin(), left_over.end(),
            packs.begin() + static_cast<std::ptrdiff_t>(grouped));
  group_alike(std::span(packs).subspan(grouped), dp);
  return packs;
}

/// Moves the groups that leave the window to the front, whole: the more alike half, and those with
/// a pack that has waited long enough. Returns how many packs those are.
std::size_t leaving_first(std::vector<LoadedPack>& groups, std::span<const WaitingPack> waiting,
                          std::size_t dp) {
  most_alike_first(groups, dp);
  std::size_t leaving = (groups.size() / dp + 1) / 2 * dp;
  for (std::size_t begin = leaving; begin < groups.size(); begin += dp) {
    const auto group = groups.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto end = group + static_cast<std::ptrdiff_t>(dp);
    if (std::none_of(group, end, [&](const LoadedPack& p) {
          return waiting[static_cast<std::size_t>(p.pack)].windows + 1 >= kMostStepWindows;
        })) {
      continue;
    }
    std::swap_ranges(group, end, groups.begin() + static_cast<std::ptrdiff_t>(leaving));
    leaving += dp;
  }
  return leaving;
}

}  // namespace

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

void StreamSteps::push(const WaitingPack& pack) {
  // Not before a pack more is there: a stream of just a window is formed as a whole epoch is.
  const auto room = static_cast<std::size_t>(options_.window * options_.dp);
  if (state_.waiting.size() == room) group_window();
  state_.waiting.push_back(pack);
}

/// Groups of the window that leave it become ready in random order, their ranks too.
void StreamSteps::group_window() {
  const auto dp = static_cast<std::size_t>(options_.dp);
  std::vector<WaitingPack>& waiting = state_.waiting;
  std::vector<LoadedPack> groups = group_classes(waiting, dp);
  const std::size_t leaving = leaving_first(groups, waiting, dp);
  PhiloxRng rng(options_.seed, RngStream::kStreamStep,
                static_cast<std::uint32_t>(state_.windows++));
  std::vector<std::size_t> order(leaving / dp);
  std::iota(order.begin(), order.end(), std::size_t{0});
  shuffle(std::span(order), rng);
  std::vector<bool> gone(waiting.size());
  for (const std::size_t g : order) {
    const std::span<LoadedPack> group = std::span(groups).subspan(g * dp, dp);
    shuffle(group, rng);
    for (const LoadedPack& p : group) {
      state_.ready.push_back(waiting[static_cast<std::size_t>(p.pack)]);
      gone[static_cast<std::size_t>(p.pack)] = true;
    }
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (gone[i]) continue;
    waiting[kept] = waiting[i];
    ++waiting[kept++].windows;
  }
  waiting.resize(kept);
}

/// What is in no whole step yet, in order of id; with tail policy `repeat` packs of the step before
/// behind it, up to a whole step.
std::vector<WaitingPack> StreamSteps::take_unstepped() {
  const std::size_t step = packs_in_step();
  std::vector<WaitingPack>& ready = state_.ready;
  const auto stepped = ready.begin() + static_cast<std::ptrdiff_t>(ready.size() / step * step);
  std::vector<WaitingPack> rest(stepped, ready.end());
  ready.erase(stepped, ready.end());
  rest.insert(rest.end(), state_.waiting.begin(), state_.waiting.end());
  state_.waiting.clear();
  std::sort(rest.begin(), rest.end(),
            [](const WaitingPack& a, const WaitingPack& b) { return a.id < b.id; });
  const std::span<const WaitingPack> before = ready.empty()
                                                  ? std::span<const WaitingPack>(state_.last_step)
                                                  : std::span<const WaitingPack>(ready).last(step);
  const std::size_t missing = (step - rest.size() % step) % step;
  if (options_.tail == Tail::kRepeat && !before.empty()) {
    rest.insert(rest.end(), before.begin(), before.begin() + static_cast<std::ptrdiff_t>(missing));
    state_.repeated_packs += static_cast<std::int64_t>(missing);
  }
  return rest;
}

Status StreamSteps::finish() {
  const bool any_step = state_.steps > 0 || has_step();
  const std::size_t unstepped = state_.ready.size() % packs_in_step() + state_.waiting.size();
  if (!any_step) {
    OMNIBAL_RETURN_IF_ERROR(start_table(static_cast<std::int64_t>(unstepped), options_));
  }
  state_.finished = true;
  const std::vector<WaitingPack> rest = take_unstepped();
  if (rest.empty()) return {};
  if (options_.tail == Tail::kDrop && rest.size() < packs_in_step()) {
    state_.dropped_packs += static_cast<std::int64_t>(rest.size());
    return {};
  }
  std::vector<metrics::PackLoad> loads;
  for (const WaitingPack& pack : rest) loads.push_back(pack.load);
  StepOptions options = options_;
  options.epoch += static_cast<std::uint32_t>(state_.windows);
  OMNIBAL_ASSIGN(const StepTable table, form_steps(loads, options));
  state_.zero_weight_packs += table.zero_weight_packs;
  state_.dropped_packs += table.dropped_packs;
  state_.repeated_packs += table.repeated_packs;
  for (const std::int64_t i : table.pack_ids) {
    state_.ready.push_back(i == kZeroWeightPack ? WaitingPack{.id = kZeroWeightPack}
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
  for (const WaitingPack& pack : state_.last_step) ids.push_back(pack.id);
  return ids;
}

}  // namespace omnibal::steps
