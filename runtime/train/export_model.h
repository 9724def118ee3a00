// SPDX-License-Identifier: Apache-2.0
//
// The trained model as transformers opens it: the weights of all ranks in safetensors under their
// names in files, beside the other files of the model that was trained.
//
//   OMNIBAL_RETURN_IF_ERROR(export_model(training, world, "checkpoints/model"));
//
// Not a checkpoint: it has no optimizer's state.
#pragma once

#include <string>

#include "train/training.h"

namespace omnibal::runtime {

/// Whole or not at all; takes the place of an earlier export. Collective over `world`; rank 0 holds
/// the whole model in memory, in the precision of the training. Errors: kWriteFailed,
/// kWouldOverwrite, kPeerFailed.
Status export_model(const Training& training, Communicator& world, const std::string& directory);

}  // namespace omnibal::runtime
