// SPDX-License-Identifier: Apache-2.0
#include "omnibal/simulate/collectives.h"

#include <algorithm>

namespace omnibal::simulate {

DeviceGroup data_parallel_group(const cluster::ClusterSpec& cluster,
                                const cluster::ParallelSizes& sizes, std::int64_t pipeline_rank,
                                std::int64_t num_ranks) {
  const std::int64_t members = sizes.dp * num_ranks;
  const auto node_of = [&](std::int64_t member) {
    return ((pipeline_rank * sizes.dp + member) * sizes.tp) / cluster.devices_per_node;
  };
  std::int64_t num_nodes = 1;
  std::int64_t in_node = 1;
  std::int64_t fewest = members;
  for (std::int64_t rank = 1; rank < members; ++rank) {
    if (node_of(rank) == node_of(rank - 1)) {
      ++in_node;
      continue;
    }
    fewest = std::min(fewest, in_node);
    in_node = 1;
    ++num_nodes;
  }
  fewest = std::min(fewest, in_node);
  DeviceGroup group{members, cluster.inner.bytes_per_s, 0};
  // A chunk makes members - 1 hops, one of them to each further node.
  group.latency_s = static_cast<double>(num_nodes - 1) * cluster.outer.latency_s +
                    static_cast<double>(members - num_nodes) * cluster.inner.latency_s;
  if (num_nodes == 1) return group;
  const double leaving = static_cast<double>(fewest) * cluster.outer.bytes_per_s;
  const bool all_apart = num_nodes == members;
  group.bytes_per_s = all_apart ? leaving : std::min(leaving, cluster.inner.bytes_per_s);
  return group;
}

double all_gather_s(const DeviceGroup& group, double bytes) {
  if (group.members <= 1 || bytes <= 0) return 0;
  const auto members = static_cast<double>(group.members);
  return group.latency_s + bytes * (members - 1) / members / group.bytes_per_s;
}

double reduce_scatter_s(const DeviceGroup& group, double bytes) {
  return all_gather_s(group, bytes);
}

double all_reduce_s(const DeviceGroup& group, double bytes) {
  return reduce_scatter_s(group, bytes) + all_gather_s(group, bytes);
}

}  // namespace omnibal::simulate
