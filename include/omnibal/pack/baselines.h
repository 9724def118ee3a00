// SPDX-License-Identifier: Apache-2.0
//
// What others do, for comparison: micro-batches of a fixed number of samples, each padded to its
// longest, and which rank runs which. Definitions: docs/methods/packing.md.
//
//   const MicroBatches random = random_micro_batches(samples, accepted, {.size = 4, .dp = 8});
//   metrics::padded_loads(random.groups.view(), samples);
//   metrics::RankGrid{random.grid, random.dp};
//
// Not for training at speed: no caps here, and memory follows the longest sample.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "omnibal/pack/packs.h"

namespace omnibal::pack {

struct MicroBatchOptions {
  std::int64_t size = 4;  // samples in a micro-batch
  std::int64_t dp = 8;    // data-parallel ranks
  std::uint64_t seed = 0;
};

/// Every accepted sample is in exactly one group. The grid names complete micro-batches only:
/// those with fewer samples, and those left when the ranks' counts differ, are in no row.
struct MicroBatches {
  Packs groups;
  std::vector<std::int64_t> grid;  // [rows, dp] of group ids
  std::int64_t dp = 1;
};

/// Each rank owns a contiguous block of the corpus and shuffles inside it.
MicroBatches random_micro_batches(const metrics::SampleColumns& samples,
                                  std::span<const std::uint32_t> accepted,
                                  const MicroBatchOptions& options);

/// Sorted by (tokens // 32, corpus index), cut into micro-batches, these dealt in random order.
MicroBatches sorted_micro_batches(const metrics::SampleColumns& samples,
                                  std::span<const std::uint32_t> accepted,
                                  const MicroBatchOptions& options);

/// Hugging Face's group_by_length: shuffled, cut into megabatches of 50 micro-batches, each sorted
/// by descending tokens; the micro-batches go to the ranks in turn.
MicroBatches length_grouped_micro_batches(const metrics::SampleColumns& samples,
                                          std::span<const std::uint32_t> accepted,
                                          const MicroBatchOptions& options);

/// Shuffled, cut into groups of dp * size samples, each sorted by descending tokens; sample
/// k * dp + r goes to rank r.
MicroBatches device_group_micro_batches(const metrics::SampleColumns& samples,
                                        std::span<const std::uint32_t> accepted,
                                        const MicroBatchOptions& options);

}  // namespace omnibal::pack
