// SPDX-License-Identifier: Apache-2.0
#include "cluster/presets.h"

#include <array>

namespace omnibal::cluster {
namespace {

/// Of executed FLOPs while busy. Fitted once, on the paper's balanced Megatron run (29.0 GPU days)
/// for the A100, and never again by run or model (docs/methods/cost.md).
constexpr double kA100Achieved = 163e12;
constexpr double kA100Peak = 312e12;
/// Assumed of the other devices, for want of a figure to fit: the same fraction of the peak.
constexpr double kAchievedFraction = kA100Achieved / kA100Peak;

/// Start of a transfer, an order of magnitude (nothing published fits all systems).
constexpr double kInnerLatency = 5e-6;
constexpr double kOuterLatency = 15e-6;

/// Three quarters of the 2 TB that nodes of eight such devices are sold with.
constexpr std::int64_t kHostMemory = 1'500'000'000'000;

ClusterSpec make_hopper(std::string name, std::int64_t memory, double memory_bytes_per_s) {
  constexpr double kPeak = 989e12;
  return {.name = std::move(name),
          .device_memory_bytes = memory,
          .peak_flops = kPeak,
          .achieved_flops = kAchievedFraction * kPeak,
          .memory_bytes_per_s = memory_bytes_per_s,
          .host_bytes_per_s = 50e9,  // PCIe 5 x 16, as transfers reach it
          .host_memory_bytes = kHostMemory,
          .inner = {450e9, kInnerLatency},  // NVLink 4, one way
          .outer = {50e9, kOuterLatency}};  // NDR InfiniBand, an adapter a device
}

std::array<ClusterSpec, 3> make_clusters() {
  const ClusterSpec a100{.name = "a100-80g",
                         .device_memory_bytes = std::int64_t{80} << 30,
                         .peak_flops = kA100Peak,
                         .achieved_flops = kA100Achieved,
                         .memory_bytes_per_s = 2039e9,
                         .host_bytes_per_s = 25e9,  // PCIe 4 x 16, as transfers reach it
                         .host_memory_bytes = kHostMemory,
                         .inner = {300e9, kInnerLatency},  // NVLink 3, one way
                         .outer = {25e9, kOuterLatency}};  // HDR InfiniBand
  return {a100, make_hopper("h100-80g", std::int64_t{80} << 30, 3350e9),
          make_hopper("h200", 141'000'000'000, 4800e9)};
}

}  // namespace

std::span<const ClusterSpec> known_clusters() {
  static const std::array<ClusterSpec, 3> kClusters = make_clusters();
  return kClusters;
}

}  // namespace omnibal::cluster
