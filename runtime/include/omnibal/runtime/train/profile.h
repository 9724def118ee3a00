// SPDX-License-Identifier: Apache-2.0
//
// Measures a model's layers on packs of a plan and writes the profile that `omnibal partition`,
// `plan --profile` and `simulate --profile` read.
//
//   OMNIBAL_ASSIGN(const MeasuredProfile measured, measure_profile(config, *world, "p.json"));
//   measured.residuals[3].forward_s;    // 0.02: how far measurements lie from the fit
//   measured.profile.layers[3].forward_s.at(load);
//
// Not under tensor parallelism, and not the optimizer's step or any communication.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "omnibal/cost/profile.h"
#include "omnibal/runtime/comm/communicator.h"
#include "omnibal/runtime/train_config/train_config.h"

namespace omnibal::runtime {

/// Root mean square of what a fit misses, over that of the measured values.
struct LayerResiduals {
  double forward_s = 0, input_grad_s = 0, weight_grad_s = 0, recompute_s = 0;
  double activation_bytes = 0, recomputed_bytes = 0, transient_bytes = 0, boundary_bytes = 0;
};

struct MeasuredProfile {
  cost::Profile profile;
  std::vector<LayerResiduals> residuals;  // by layer
  double residual = 0;                    // of a micro-batch's forward and backward, all layers
  std::int64_t micro_batches = 0;         // that were measured
  std::int64_t packs = 0;                 // of the plan that they come from
  std::vector<std::string> notes;         // what was not measured
};

/// In one process, whatever dp and pp the plan has. Errors: kInvalidArgument (several processes, tp
/// above 1), kWriteFailed (before anything is measured, if `out` has no folder), kOutOfRange (the
/// plan has no pack with tokens); those of what is read, of `train` and of write_profile.
Result<MeasuredProfile> measure_profile(const TrainConfig& config, Communicator& world,
                                        const std::string& out);

}  // namespace omnibal::runtime
