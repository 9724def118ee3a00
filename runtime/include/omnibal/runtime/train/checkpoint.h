// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints of a training: each rank's part of the optimizer's state in a file of its own, and
// what the trainer keeps beside it. A directory appears whole or not at all; it is read back on any
// layout.
//
//   OMNIBAL_RETURN_IF_ERROR(save_checkpoint("checkpoints", content, *world, 2));
//   const auto path = latest_checkpoint("checkpoints");   // "checkpoints/step-00000500"
//   OMNIBAL_ASSIGN(const CheckpointHead head, read_checkpoint_head(*path));
//   OMNIBAL_RETURN_IF_ERROR(load_checkpoint(head, content));
//
// Not a model for other programs: save_parameters (model/weights.h) writes that. Frozen parameters
// are not in it: they are those of the model directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/codec/json.h"
#include "omnibal/runtime/comm/communicator.h"
#include "omnibal/runtime/model/parameter.h"
#include "omnibal/runtime/optimizer/optimizer.h"

namespace omnibal::runtime {

struct CheckpointContent {
  Optimizer& optimizer;
  const std::vector<Parameter>& parameters;     // of this rank's stages
  codec::Json trainer = codec::Json::object();  // cursor, seed, ...: rank 0's is kept
};

/// `root`/step-NNNNNNNN, of the optimizer's step; then all but the last `keep` go (0: none).
/// Collective over `world`: all ranks succeed or each has an error. Errors: kWriteFailed,
/// kWouldOverwrite, kPeerFailed (another rank could not write); those of the communicator.
Status save_checkpoint(const std::string& root, const CheckpointContent& content,
                       Communicator& world, std::int64_t keep);

/// The one of the latest step; nothing if there is none.
std::optional<std::string> latest_checkpoint(const std::string& root);

/// What a checkpoint says of itself.
struct CheckpointHead {
  std::string path;
  std::int64_t step = 0;
  std::int64_t num_ranks = 1;  // that saved it
  codec::Json trainer = codec::Json::object();
};

/// Errors: kFileNotFound, kUnknownFormat, kUnsupportedVersion, those of the keys.
Result<CheckpointHead> read_checkpoint_head(const std::string& path);

/// Sets the optimizer's state, step and the weights, whatever layout had saved them. Collective
/// over the optimizer's data-parallel ranks. Errors: kFileNotFound, kMalformedSafetensors,
/// kMissingTensor (the parameter's name), kWrongType (saved in another precision), kConflictingKeys
/// (another shape).
Status load_checkpoint(const CheckpointHead& head, const CheckpointContent& content);

}  // namespace omnibal::runtime
