// SPDX-License-Identifier: Apache-2.0
//
// The analytic profile: FLOPs and bytes of every layer by formula (docs/methods/cost.md gives them
// with their sources), seconds at the cluster's achieved rate.
//
//   OMNIBAL_ASSIGN(const Profile profile, analytic_profile(model, cluster, {.tp = 2, .dp = 8}));
//   profile.layers[1].forward_s.at({9, 4096, 4.0e6});   // 0.0100 s: a block of InternViT-6B
//   write_profile(profile, "profile.json");
//
// Not for communication: boundary bytes are here, links are the simulation's.
#pragma once

#include "omnibal/cluster/cluster.h"
#include "omnibal/cost/profile.h"
#include "omnibal/model/model.h"

namespace omnibal::cost {

/// What happens to attention whose heads do not divide by tp.
enum class HeadPolicy {
  kReplicate,  // every device computes all heads (Megatron's practice for InternViT-6B)
  kPad         // zero heads are added up to the next multiple
};

struct AnalyticOptions {
  std::int64_t tp = 1;
  std::int64_t dp = 1;  // shards optimizer states: 6 + 12 / dp bytes a parameter
  HeadPolicy heads = HeadPolicy::kReplicate;
  /// Beyond tp 2, at which the achieved rate was fitted: what its collectives take longer. The
  /// links of `inner`, which tensor-parallel groups lie on. Never less than nothing, at tp 1
  /// either.
  bool tensor_links = false;
  Load load{9, 4096, 4096.0 * 4096.0};  // the profile's reference load
};

/// Costs of one device of a tensor-parallel group. Frozen parts of `model` stay frozen. Error:
/// kInvalidArgument (tp does not divide a width, a load that is not allowed).
Result<Profile> analytic_profile(const model::ModelSpec& model, const cluster::ClusterSpec& cluster,
                                 const AnalyticOptions& options);

}  // namespace omnibal::cost
