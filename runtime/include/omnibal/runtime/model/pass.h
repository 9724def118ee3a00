// SPDX-License-Identifier: Apache-2.0
//
// Pass: what a layer needs beside its input to run forward for one micro-batch.
//
//   const Pass plain{prepared};
//   const Pass split{prepared, &group};                  // one of several tensor-parallel ranks
//   const Pass deferred{prepared, &group, &later};       // weight gradients of linear layers later
//
// Not owning: all outlive the backward of the pass.
#pragma once

#include "omnibal/runtime/layers/tensor_group.h"
#include "omnibal/runtime/layers/weight_gradients.h"
#include "omnibal/runtime/model/micro_batch.h"
#include "omnibal/runtime/model/recompute.h"

namespace omnibal::runtime {

struct Pass {
  const PreparedBatch& batch;
  const TensorGroup* group = nullptr;
  WeightGradients* later = nullptr;
  Recompute recompute = Recompute::kNothing;  // parts of the layer; others are the tape's affair
};

}  // namespace omnibal::runtime
