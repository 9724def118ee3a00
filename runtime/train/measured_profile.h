// SPDX-License-Identifier: Apache-2.0
//
// A profile from measurements: each cost of each layer fitted as a linear function of the load.
//
//   MeasuredProfile measured = fit_profile(config.spec, measures);
//   measured.profile.layers[3].forward_s.at(load);
//   measured.residuals[3].forward_s;      // relative
//
// Not of several layers together: layers alike are fitted each for itself.
#pragma once

#include <vector>

#include "omnibal/runtime/train/profile.h"
#include "train/layer_measure.h"

namespace omnibal::runtime {

/// One micro-batch.
struct BatchMeasure {
  cost::Load load;  // as it was fed: blank tiles that a plan charges are none
  std::vector<LayerMeasure> layers;
};

/// Seconds and bytes of activations; parameters and static bytes are the caller's. A layer's costs
/// depend on what it is fed: the tower and the projector on vision units, the token embedding on
/// them and on tokens, blocks on tokens and token pairs, the head on tokens.
MeasuredProfile fit_profile(const model::ModelSpec& model,
                            const std::vector<BatchMeasure>& measures);

}  // namespace omnibal::runtime
