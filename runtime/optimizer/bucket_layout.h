// SPDX-License-Identifier: Apache-2.0
//
// Where each parameter's gradient lies in flat buckets, and which part of a bucket each
// data-parallel rank owns (ZeRO stage 1, arXiv 1910.02054).
//
//   const auto buckets = lay_out_buckets(parameters, 1 << 22, 4);   // elements, ranks
//   buckets[0].slots[0].parameter;   // the last one: its gradient is complete first
//   buckets[0].part_size(4);
//
// Not memory: gradient_buckets.h has that.
#pragma once

#include <cstdint>
#include <vector>

namespace omnibal::runtime {

struct Slot {
  std::size_t parameter;
  std::int64_t offset;  // elements from the bucket's begin
  std::int64_t size;

  std::int64_t end() const { return offset + size; }
};

struct BucketLayout {
  std::vector<Slot> slots;
  std::int64_t size = 0;  // a multiple of the ranks: the last elements may belong to nothing

  std::int64_t part_size(int num_ranks) const { return size / num_ranks; }
};

struct SizedParameter {
  std::int64_t size = 0;  // elements
  /// Its gradient is complete only behind the whole backward: it goes into the last buckets.
  bool late = false;
};

/// Parameters backwards, as backward completes them, a new bucket whenever one would exceed
/// `bucket_size` elements. One larger than that has its own. Parameters of no element have no slot.
std::vector<BucketLayout> lay_out_buckets(const std::vector<SizedParameter>& parameters,
                                          std::int64_t bucket_size, int num_ranks);

}  // namespace omnibal::runtime
