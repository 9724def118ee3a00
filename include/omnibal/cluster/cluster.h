// SPDX-License-Identifier: Apache-2.0
//
// ClusterSpec: the devices that a plan is for.
//
//   OMNIBAL_ASSIGN(const ClusterSpec cluster, load_cluster("a100-80g"));
//   OMNIBAL_RETURN_IF_ERROR(check_sizes({.tp = 2, .pp = 4, .dp = 8}, 64, cluster));
//   cluster.usable_bytes();   // 80.7e9
//
// Not the topology of a machine room: two links, inside a node and between nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "omnibal/base/result.h"

namespace omnibal::cluster {

struct Link {
  double bytes_per_s = 0;  // one way
  double latency_s = 0;
};

struct ClusterSpec {
  std::string name;
  std::int64_t device_memory_bytes = 0;
  double memory_reserve = 0.06;  // fraction kept free for the allocator and the framework
  double peak_flops = 0;         // per second, bf16
  double achieved_flops = 0;     // of executed FLOPs while busy (docs/methods/cost.md: fitted once)
  double memory_bytes_per_s = 0;  // of a device's memory; 0: not known
  double host_bytes_per_s = 0;    // between a device and its host's memory, one way; 0: not known
  std::int64_t host_memory_bytes = 0;  // of a node, for what its devices offload; 0: not known
  std::int64_t devices_per_node = 8;
  Link inner;  // between devices of a node
  Link outer;  // between nodes, a device's share

  /// What a stage may use: memory less the reserve.
  std::int64_t usable_bytes() const;
  /// Of the host's memory, for one device; 0: not known.
  std::int64_t host_share_bytes() const { return host_memory_bytes / devices_per_node; }
};

/// A preset (a100-80g, h100-80g, h200; in any case) or the path of a TOML file
/// (docs/formats/cluster.md). Errors: kUnknownPreset (with the nearest name), kFileNotFound,
/// kMalformedToml, kMissingKey, kUnknownKey, kWrongType, kOutOfRange, kConflictingKeys.
Result<ClusterSpec> load_cluster(const std::string& name_or_path);
std::vector<std::string> cluster_presets();

/// Sizes of 3D parallelism: tensor, pipeline, data.
struct ParallelSizes {
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t dp = 1;
  std::int64_t gpus() const { return tp * pp * dp; }
};

/// kSizesDoNotDivide, naming the nearest sizes that do, unless tp * pp * dp == gpus and every
/// tensor-parallel group lies inside one node.
Status check_sizes(const ParallelSizes& sizes, std::int64_t gpus, const ClusterSpec& cluster);

}  // namespace omnibal::cluster
