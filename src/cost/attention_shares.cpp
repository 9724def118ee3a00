// SPDX-License-Identifier: Apache-2.0
#include "cost/attention_shares.h"

namespace omnibal::cost {
namespace {

double padded_share(std::int64_t heads, std::int64_t tp) {
  const std::int64_t on_a_device = (heads + tp - 1) / tp;
  return static_cast<double>(on_a_device) / static_cast<double>(heads);
}

}  // namespace

AttentionShares attention_shares(std::int64_t num_heads, std::int64_t num_kv_heads, std::int64_t tp,
                                 HeadPolicy policy) {
  if (num_heads % tp != 0 && policy == HeadPolicy::kReplicate) return {};
  return {.query = padded_share(num_heads, tp),
          .kv = padded_share(num_kv_heads, tp),
          .outside = 1 / static_cast<double>(tp)};
}

}  // namespace omnibal::cost
