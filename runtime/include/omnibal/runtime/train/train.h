// SPDX-License-Identifier: Apache-2.0
//
// Trains a model by a plan: what every rank of a training runs.
//
//   OMNIBAL_ASSIGN(const TrainConfig config, parse_train_config(document, "train.toml"));
//   OMNIBAL_ASSIGN(const TrainOutcome outcome, train(config, *world, {.on_step = show}));
//   outcome.finished;       // false: asked to stop, and what there was is saved
//
// Not the program: signals, MPI and what is printed are omnibal-train's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "omnibal/runtime/comm/communicator.h"
#include "omnibal/runtime/train_config/train_config.h"

namespace omnibal::runtime {

/// A step that has run; the same on each rank but for `predicted_s`, which rank 0 alone knows.
struct StepRow {
  std::int64_t step = 0;  // counted from 1
  std::int64_t num_steps = 0;
  std::int64_t epoch = 0;
  double loss = 0;  // per weight: 0 of a step without supervised tokens
  double gradient_norm = 0;
  double lr = 0;  // the base rate in this step
  std::int64_t tokens = 0;
  std::int64_t supervised = 0;
  std::int64_t token_capacity = 0;  // of all packs at the plan's cap: what padding would compute
  std::int64_t tiles = 0;
  std::int64_t tile_capacity = 0;
  double seconds = 0;  // of the slowest rank
  std::optional<double> predicted_s = {};
  std::int64_t peak_bytes = 0;        // tensors of the fullest rank
  std::int64_t activation_bytes = 0;  // of them, beyond what stays between steps
};

/// A row of the log.
codec::Json to_json(const StepRow& row);
/// The progress line.
std::string to_text(const StepRow& row);

struct TrainCalls {
  /// Asked of each rank at each step's end; one that says yes stops all.
  std::function<bool()> stop_asked = {};
  /// On rank 0.
  std::function<void(const StepRow&)> on_step = {};
  std::function<void(const std::string&)> on_note = {};
  /// On each rank, once: a line that always says what the rank does, for signal handlers; it stays
  /// as long as the communicator.
  std::function<void(const char*)> on_status = {};
};

struct TrainOutcome {
  std::int64_t step = 0;
  bool finished = false;
  std::string checkpoint;  // the last one; empty: none
  std::string model;       // where the trained model is; empty: not exported
};

/// Resumes from the latest checkpoint of config.checkpoint.dir, if there is one; writes checkpoints
/// there and, behind the last step, the model into its folder `model`. Collective over `world`. An
/// error of one rank ends all. Errors: those of what is read; kSizesDoNotDivide (another number of
/// ranks than dp x pp x tp); kOutOfRange (the gradients are not finite).
Result<TrainOutcome> train(const TrainConfig& config, Communicator& world, const TrainCalls& calls);

}  // namespace omnibal::runtime
