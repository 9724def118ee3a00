// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "omnibal/cluster/cluster.h"

namespace omnibal::cluster {
namespace {

Error sizes_error(std::string message, std::int64_t value, std::int64_t limit) {
  return Error(ErrorCode::kSizesDoNotDivide, std::move(message))
      .with_value(value)
      .with_limit(limit);
}

/// The largest tp below and the smallest above that split a node evenly.
std::string nearest_divisors(std::int64_t tp, std::int64_t devices_per_node) {
  std::int64_t below = 1;
  std::int64_t above = devices_per_node;
  for (std::int64_t size = 1; size <= devices_per_node; ++size) {
    if (devices_per_node % size != 0) continue;
    if (size < tp) below = size;
    if (size > tp && size < above) above = size;
  }
  return below == above ? fmt::format("tp {}", below) : fmt::format("tp {} or tp {}", below, above);
}

Status check_tensor_group(const ParallelSizes& sizes, const ClusterSpec& cluster) {
  const std::int64_t node = cluster.devices_per_node;
  if (sizes.tp > node) {
    return sizes_error(fmt::format("tp {} does not fit in a node of {} devices", sizes.tp, node),
                       sizes.tp, node)
        .with_hint(fmt::format("tp {} is the largest here", node));
  }
  if (sizes.gpus() <= node || node % sizes.tp == 0) return {};
  return sizes_error(
             fmt::format("groups of tp {} would straddle nodes of {} devices", sizes.tp, node),
             sizes.tp, node)
      .with_hint(fmt::format("{} split a node evenly", nearest_divisors(sizes.tp, node)));
}

std::string nearest_dp(const ParallelSizes& sizes, std::int64_t gpus) {
  const std::int64_t model = sizes.tp * sizes.pp;
  const std::int64_t below = gpus / model;
  if (gpus % model == 0) {
    return fmt::format("with tp {} and pp {}, dp {} uses {} GPUs", sizes.tp, sizes.pp, below, gpus);
  }
  const std::string above = fmt::format("dp {} uses {}", below + 1, (below + 1) * model);
  if (below == 0) return fmt::format("with tp {} and pp {}, {} GPUs", sizes.tp, sizes.pp, above);
  return fmt::format("with tp {} and pp {}, dp {} uses {} GPUs, {}", sizes.tp, sizes.pp, below,
                     below * model, above);
}

}  // namespace

Status check_sizes(const ParallelSizes& sizes, std::int64_t gpus, const ClusterSpec& cluster) {
  constexpr std::int64_t kMax = 1'000'000;
  for (const std::int64_t size : {sizes.tp, sizes.pp, sizes.dp, gpus}) {
    if (size >= 1 && size <= kMax) continue;
    return sizes_error(fmt::format("{} is no number of devices", size), size, kMax)
        .with_hint("tp, pp, dp and the number of GPUs are at least 1");
  }
  OMNIBAL_RETURN_IF_ERROR(check_tensor_group(sizes, cluster));
  if (sizes.gpus() == gpus) return {};
  return sizes_error(fmt::format("tp {} x pp {} x dp {} are {} GPUs, not {}", sizes.tp, sizes.pp,
                                 sizes.dp, sizes.gpus(), gpus),
                     sizes.gpus(), gpus)
      .with_hint(nearest_dp(sizes, gpus));
}

}  // namespace omnibal::cluster
