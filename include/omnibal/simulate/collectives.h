// SPDX-License-Identifier: Apache-2.0
//
// How long a ring collective over a group of devices takes.
//
//   const DeviceGroup group = data_parallel_group(cluster, {2, 4, 8}, 0);
//   reduce_scatter_s(group, bytes);      // of a tensor of `bytes` on every device
//
// Not for transfers between two stages: boundary_links (stage_times.h). Rings only: what a tree
// saves in latency on small tensors is not counted.
#pragma once

#include <cstdint>

#include "omnibal/cluster/cluster.h"

namespace omnibal::simulate {

struct DeviceGroup {
  std::int64_t members = 1;
  double bytes_per_s = 0;  // of the ring's slowest hop
  double latency_s = 0;    // once around, less one hop
};

/// The devices that hold the same layers: one of each data-parallel rank of the `num_ranks`
/// pipeline ranks from `pipeline_rank` on, numbered as boundary_links numbers them. Inside a node
/// the inner link; a ring over several nodes passes each once, out through the outer links of all
/// its members there together (a tensor group's other rings leave through those of their own
/// members).
DeviceGroup data_parallel_group(const cluster::ClusterSpec& cluster,
                                const cluster::ParallelSizes& sizes, std::int64_t pipeline_rank,
                                std::int64_t num_ranks = 1);

/// Every device gets the whole tensor of `bytes`, of which each had its share: (n - 1) / n of it
/// passes each hop. A group of one, or nothing to send, takes no time.
double all_gather_s(const DeviceGroup& group, double bytes);
/// Every device gets its share of the sum: as long.
double reduce_scatter_s(const DeviceGroup& group, double bytes);
/// Every device gets the sum: both after another.
double all_reduce_s(const DeviceGroup& group, double bytes);

}  // namespace omnibal::simulate
