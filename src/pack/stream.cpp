// SPDX-License-Identifier: Apache-2.0
#include "omnibal/pack/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "omnibal/base/philox.h"
#include "pack/admission.h"

namespace omnibal::pack {
namespace {

/// The first window takes the seed as it is: a stream that fits in it is packed as a corpus is.
std::uint64_t seed_of_window(std::uint64_t seed, std::int64_t window) {
  if (window == 0) return seed;
  return PhiloxRng(seed, RngStream::kStreamPack, static_cast<std::uint32_t>(window)).next_u64();
}

/// A window as packers take it.
struct WindowColumns {
  std::vector<std::uint32_t> vision, tokens, all;

  explicit WindowColumns(std::span<const WaitingSample> waiting) : all(waiting.size()) {
    for (const WaitingSample& w : waiting) {
      vision.push_back(w.sample.vision);
      tokens.push_back(w.sample.tokens);
    }
    std::iota(all.begin(), all.end(), 0U);
  }
  metrics::SampleColumns view() const { return {vision, tokens}; }
};

/// Used over cap of the fuller resource, times both caps: exact.
std::int64_t fullness(const metrics::PackLoad& load, const PackLimits& limits) {
  return std::max(load.vision_units * limits.token_cap, load.tokens * limits.vision_cap);
}

bool is_full(const metrics::PackLoad& load, std::size_t samples, const PackLimits& limits) {
  return load.vision_units >= limits.vision_floor || load.tokens >= limits.token_floor ||
         static_cast<std::int64_t>(samples) == limits.max_samples;
}

/// Which packs of a window leave it.
std::vector<bool> choose_leaving(const metrics::GroupView& packs,
                                 std::span<const metrics::PackLoad> loads,
                                 std::span<const WaitingSample> waiting, const PackLimits& limits) {
  const auto num_packs = static_cast<std::size_t>(packs.size());
  std::vector<bool> leaves(num_packs);
  std::vector<std::size_t> others;
  std::size_t samples_leaving = 0;
  for (std::size_t p = 0; p < num_packs; ++p) {
    const std::span<const std::uint32_t> members = packs[static_cast<std::int64_t>(p)];
    const bool waited_enough = std::any_of(members.begin(), members.end(), [&](std::uint32_t i) {
      return waiting[i].windows + 1 >= kMostPackWindows;
    });
    leaves[p] = waited_enough || is_full(loads[p], members.size(), limits);
    if (leaves[p]) {
      samples_leaving += members.size();
    } else {
      others.push_back(p);
    }
  }
  std::stable_sort(others.begin(), others.end(), [&](std::size_t a, std::size_t b) {
    return fullness(loads[a], limits) > fullness(loads[b], limits);
  });
  for (const std::size_t p : others) {
    if (2 * samples_leaving >= waiting.size()) break;
    leaves[p] = true;
    samples_leaving += packs[static_cast<std::int64_t>(p)].size();
  }
  return leaves;
}

}  // namespace

Status check_stream_options(const StreamPackOptions& options) {
  OMNIBAL_RETURN_IF_ERROR(check_admission(options.limits, options.admission));
  if (options.window_samples < 1 || options.window_samples > kLargestPackWindow) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("the window must hold between 1 and {} samples", kLargestPackWindow))
        .at_key("window_samples")
        .with_value(options.window_samples)
        .with_limit(options.window_samples < 1 ? std::int64_t{1} : kLargestPackWindow);
  }
  if (options.admission.over_long == OverLong::kTruncate) {
    return Error(ErrorCode::kInvalidArgument,
                 "samples of a stream are not cut: which of their tokens have a loss is not known")
        .at_key("over_long");
  }
  if (respects_caps(options.method)) return {};
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("{} pads its micro-batches and knows no caps: it packs no stream",
                           to_string(options.method)))
      .at_key("method");
}

Error nothing_usable(std::int64_t num_samples, const StreamRejection& first) {
  const Rejection rejection{0, first.reason, first.value, first.limit};
  return nothing_usable(num_samples, &rejection, first.sample);
}

StreamPacker::StreamPacker(const StreamPackOptions& options, StreamPackState state)
    : options_(options), state_(std::move(state)) {}

Result<StreamPacker> StreamPacker::create(const StreamPackOptions& options, StreamPackState state) {
  OMNIBAL_RETURN_IF_ERROR(check_stream_options(options));
  return StreamPacker(options, std::move(state));
}

Result<std::optional<StreamRejection>> StreamPacker::push(const StreamSample& sample,
                                                          std::vector<StreamedPack>& packs) {
  const auto reason = reason_against(0, sample.vision, sample.tokens, options_.limits.caps(),
                                     options_.admission.allow_empty);
  if (reason && is_fatal(*reason, options_.admission)) {
    return over_long_error(*reason, sample.id);
  }
  ++state_.samples;
  if (reason) {
    return std::optional(StreamRejection{sample.id, reason->reason, reason->value, reason->limit});
  }
  // Not before a sample more is there: a stream of just a window is packed whole.
  if (static_cast<std::int64_t>(state_.waiting.size()) == options_.window_samples) {
    pack_window(false, packs);
  }
  state_.waiting.push_back({sample, 0});
  return std::optional<StreamRejection>();
}

void StreamPacker::finish(std::vector<StreamedPack>& packs) {
  if (!state_.waiting.empty()) pack_window(true, packs);
}

void StreamPacker::pack_window(bool all_leave, std::vector<StreamedPack>& packs) {
  std::vector<WaitingSample>& waiting = state_.waiting;
  const WindowColumns columns(waiting);
  const Grouping grouping = group_samples(options_.method, columns.view(), columns.all,
                                          {.limits = options_.limits,
                                           .micro_batches = {},
                                           .seed = seed_of_window(options_.seed, state_.windows++),
                                           .automatic = options_.automatic});
  const std::vector<metrics::PackLoad> loads = grouping.loads(columns.view());
  const metrics::GroupView groups = grouping.packs.view();
  const std::vector<bool> leaves = all_leave
                                       ? std::vector<bool>(loads.size(), true)
                                       : choose_leaving(groups, loads, waiting, options_.limits);
  std::vector<bool> gone(waiting.size());
  for (std::size_t p = 0; p < loads.size(); ++p) {
    if (!leaves[p]) continue;
    StreamedPack& pack = packs.emplace_back();
    pack.load = loads[p];
    for (const std::uint32_t i : groups[static_cast<std::int64_t>(p)]) {
      pack.samples.push_back(waiting[i].sample.id);
      gone[i] = true;
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

}  // namespace omnibal::pack
