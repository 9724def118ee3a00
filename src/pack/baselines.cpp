// SPDX-License-Identifier: Apache-2.0
#include "omnibal/pack/baselines.h"

#include <algorithm>
#include <numeric>

#include "omnibal/base/philox.h"

namespace omnibal::pack {
namespace {

using Ids = std::vector<std::uint32_t>;
using IdSpan = std::span<std::uint32_t>;

/// Appends `samples` as micro-batches of `size`, the last with fewer if they do not divide, and
/// returns how many are complete.
std::int64_t append_micro_batches(std::span<const std::uint32_t> samples, std::int64_t size,
                                  Packs& groups) {
  const auto step = static_cast<std::size_t>(size);
  for (std::size_t begin = 0; begin < samples.size(); begin += step) {
    const auto members = samples.subspan(begin, std::min(step, samples.size() - begin));
    groups.samples.insert(groups.samples.end(), members.begin(), members.end());
    groups.offsets.push_back(static_cast<std::int64_t>(groups.samples.size()));
  }
  return static_cast<std::int64_t>(samples.size() / step);
}

/// Row k of the grid: rank r runs its k-th micro-batch, for as long as all ranks have one.
std::vector<std::int64_t> grid_of_ranks(const std::vector<std::vector<std::int64_t>>& by_rank) {
  std::size_t rows = by_rank.front().size();
  for (const auto& ids : by_rank) rows = std::min(rows, ids.size());
  std::vector<std::int64_t> grid;
  grid.reserve(rows * by_rank.size());
  for (std::size_t k = 0; k < rows; ++k) {
    for (const auto& ids : by_rank) grid.push_back(ids[k]);
  }
  return grid;
}

/// Ids that go to the ranks in turn: whole rows of them.
std::vector<std::int64_t> whole_rows(std::vector<std::int64_t> ids, std::int64_t dp) {
  const auto width = static_cast<std::size_t>(dp);
  ids.resize(ids.size() / width * width);
  return ids;
}

std::vector<std::int64_t> first_ids(std::int64_t count) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), std::int64_t{0});
  return ids;
}

Ids shuffled(std::span<const std::uint32_t> accepted, std::uint64_t seed) {
  Ids ids(accepted.begin(), accepted.end());
  PhiloxRng rng(seed, RngStream::kBaselineShuffle);
  shuffle(IdSpan(ids), rng);
  return ids;
}

/// Sorts each run of `run` ids by descending tokens; ties keep the shuffled order.
void sort_runs_descending(Ids& ids, std::size_t run, std::span<const std::uint32_t> tokens) {
  for (std::size_t begin = 0; begin < ids.size(); begin += run) {
    const auto first = ids.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = ids.begin() + static_cast<std::ptrdiff_t>(std::min(begin + run, ids.size()));
    std::stable_sort(first, last,
                     [tokens](std::uint32_t a, std::uint32_t b) { return tokens[a] > tokens[b]; });
  }
}

}  // namespace

MicroBatches random_micro_batches(const metrics::SampleColumns& /*samples*/,
                                  std::span<const std::uint32_t> accepted,
                                  const MicroBatchOptions& options) {
  MicroBatches result{.groups = {}, .grid = {}, .dp = options.dp};
  std::vector<std::vector<std::int64_t>> by_rank(static_cast<std::size_t>(options.dp));
  const auto n = static_cast<std::int64_t>(accepted.size());
  for (std::int64_t rank = 0; rank < options.dp; ++rank) {
    const std::int64_t begin = n * rank / options.dp;
    const std::int64_t end = n * (rank + 1) / options.dp;
    Ids block(accepted.begin() + begin, accepted.begin() + end);
    PhiloxRng rng(options.seed, RngStream::kBaselineShuffle, static_cast<std::uint32_t>(rank));
    shuffle(IdSpan(block), rng);
    const std::int64_t first = result.groups.size();
    const std::int64_t complete = append_micro_batches(block, options.size, result.groups);
    for (std::int64_t k = 0; k < complete; ++k) {
      by_rank[static_cast<std::size_t>(rank)].push_back(first + k);
    }
  }
  result.grid = grid_of_ranks(by_rank);
  return result;
}

MicroBatches sorted_micro_batches(const metrics::SampleColumns& samples,
                                  std::span<const std::uint32_t> accepted,
                                  const MicroBatchOptions& options) {
  constexpr std::uint32_t kBucketTokens = 32;
  Ids order(accepted.begin(), accepted.end());
  std::stable_sort(order.begin(), order.end(), [&samples](std::uint32_t a, std::uint32_t b) {
    return samples.tokens[a] / kBucketTokens < samples.tokens[b] / kBucketTokens;
  });
  MicroBatches result{.groups = {}, .grid = {}, .dp = options.dp};
  auto ids = first_ids(append_micro_batches(order, options.size, result.groups));
  PhiloxRng rng(options.seed, RngStream::kBaselineShuffle);
  shuffle(std::span(ids), rng);
  result.grid = whole_rows(std::move(ids), options.dp);
  return result;
}

MicroBatches length_grouped_micro_batches(const metrics::SampleColumns& samples,
                                          std::span<const std::uint32_t> accepted,
                                          const MicroBatchOptions& options) {
  constexpr std::int64_t kMicroBatchesInMegabatch = 50;
  Ids order = shuffled(accepted, options.seed);
  sort_runs_descending(order, static_cast<std::size_t>(kMicroBatchesInMegabatch * options.size),
                       samples.tokens);
  MicroBatches result{.groups = {}, .grid = {}, .dp = options.dp};
  result.grid =
      whole_rows(first_ids(append_micro_batches(order, options.size, result.groups)), options.dp);
  return result;
}

MicroBatches device_group_micro_batches(const metrics::SampleColumns& samples,
                                        std::span<const std::uint32_t> accepted,
                                        const MicroBatchOptions& options) {
  const auto dp = static_cast<std::size_t>(options.dp);
  const auto group = dp * static_cast<std::size_t>(options.size);
  Ids order = shuffled(accepted, options.seed);
  sort_runs_descending(order, group, samples.tokens);
  MicroBatches result{.groups = {}, .grid = {}, .dp = options.dp};
  Ids members;
  for (std::size_t begin = 0; begin < order.size(); begin += group) {
    const std::size_t end = std::min(begin + group, order.size());
    for (std::size_t rank = 0; rank < dp && begin + rank < end; ++rank) {
      members.clear();
      for (std::size_t i = begin + rank; i < end; i += dp) members.push_back(order[i]);
      append_micro_batches(members, options.size, result.groups);
    }
  }
  // Micro-batches are in order of rank inside each complete group, so whole groups are whole rows.
  const auto complete = static_cast<std::int64_t>(order.size() / group * dp);
  result.grid = first_ids(complete);
  return result;
}

}  // namespace omnibal::pack
