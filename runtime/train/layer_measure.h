// SPDX-License-Identifier: Apache-2.0
//
// What each layer of a stage takes and keeps for one micro-batch, measured as the tape runs it.
//
//   std::vector<LayerMeasure> layers = count_layer_bytes(stage, batch, first_trained);
//   time_layers(stage, batch, first_trained, layers);     // adds seconds: medians of several runs
//   layers[3].forward_s;
//
// Not a fit over loads: measured_profile.h. Not the optimizer's step.
#pragma once

#include <cstdint>
#include <vector>

#include "omnibal/runtime/model/stage.h"

namespace omnibal::runtime {

struct LayerMeasure {
  double forward_s = 0;      // with the graph that backward needs
  double input_grad_s = 0;   // 0 where no gradient goes further: all is weight gradient then
  double weight_grad_s = 0;  // of linear layers: what zero-bubble schedules defer
  double recompute_s = 0;    // the forward without graph that a recomputed layer runs besides
  std::int64_t activation_bytes = 0;  // with its input, without its output
  std::int64_t recomputed_bytes = 0;  // its input
  std::int64_t transient_bytes = 0;   // on top while it runs forward again and backward
  std::int64_t boundary_bytes = 0;    // its output
};

/// One run with all layers recomputed. `first_trained`: of the stage's layers, which begin at the
/// model's first; the input of the first layer is the pixels. Adds to gradients.
std::vector<LayerMeasure> count_layer_bytes(const Stage& stage, const PreparedBatch& batch,
                                            std::int64_t first_trained);

/// Seconds into `layers`: processor time of this thread, medians of at least three runs. Adds to
/// gradients.
void time_layers(const Stage& stage, const PreparedBatch& batch, std::int64_t first_trained,
                 std::vector<LayerMeasure>& layers);

}  // namespace omnibal::runtime
