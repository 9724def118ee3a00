// SPDX-License-Identifier: Apache-2.0
#include "optimizer/bucket_layout.h"

namespace omnibal::runtime {
namespace {

/// Slots begin at multiples of this, so that kernels find them aligned: 64 bytes of fp32.
constexpr std::int64_t kAlignment = 16;

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

std::vector<BucketLayout> lay_out_buckets(const std::vector<SizedParameter>& parameters,
                                          std::int64_t bucket_size, int num_ranks) {
  std::vector<BucketLayout> buckets;
  for (const bool late : {false, true}) {
    bool open = false;  // late parameters never share a bucket with others
    for (std::size_t i = parameters.size(); i-- > 0;) {
      const SizedParameter& parameter = parameters[i];
      if (parameter.late != late || parameter.size == 0) continue;
      if (!open || buckets.back().size + parameter.size > bucket_size) buckets.emplace_back();
      open = true;
      BucketLayout& bucket = buckets.back();
      bucket.slots.push_back({i, bucket.size, parameter.size});
      bucket.size = round_up(bucket.size + parameter.size, kAlignment);
    }
  }
  for (BucketLayout& bucket : buckets) bucket.size = round_up(bucket.size, kAlignment * num_ranks);
  return buckets;
}

}  // namespace omnibal::runtime
