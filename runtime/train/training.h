// SPDX-License-Identifier: Apache-2.0
//
// Training: everything that a rank needs to run steps, made from a configuration and, where there
// is one, from the latest checkpoint.
//
//   OMNIBAL_ASSIGN(const std::unique_ptr<Training> training, set_up(config, world));
//   training->optimizer->step();      // where it goes on
//   OMNIBAL_RETURN_IF_ERROR(save(*training, world));
//
// Not the steps themselves: train.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "omnibal/codec/append_file.h"
#include "omnibal/plan/cursor.h"
#include "omnibal/runtime/comm/process_groups.h"
#include "omnibal/runtime/layers/communicator_group.h"
#include "omnibal/runtime/optimizer/optimizer.h"
#include "omnibal/runtime/pipeline/pipeline.h"
#include "omnibal/runtime/train/train.h"
#include "train/status_board.h"
#include "train/step_batches.h"
#include "train/training_layout.h"

namespace omnibal::runtime {

struct Training {
  explicit Training(const TrainConfig& chosen) : config(chosen) {}

  const TrainConfig& config;
  ModelConfig model;
  TrainingLayout layout;
  ProcessGroups groups;
  std::optional<CommunicatorGroup> tensor;  // nothing: one tensor-parallel rank
  Pipeline pipeline;
  std::vector<Parameter> parameters;
  std::unique_ptr<Optimizer> optimizer;
  std::optional<PackSource> source;
  plan::PlanIdentity identity;
  std::optional<steps::StepReader> reader;
  std::unique_ptr<StepBatches> batches;
  std::int64_t num_steps = 0;
  std::optional<codec::AppendFile> log;  // of rank 0
  std::shared_ptr<StatusBoard> board;
  std::string resumed_from;  // empty: from the beginning
  std::string checkpoint;    // the last one that was saved
};

/// Collective over `world`. Errors: those of `train`.
Result<std::unique_ptr<Training>> set_up(const TrainConfig& config, Communicator& world);

/// A checkpoint of where it stands. Collective over `world`. Errors: those of save_checkpoint.
Status save(Training& training, Communicator& world);

at::ScalarType type_of(Precision precision);

/// kStalePlan, if `data` was scanned for a model of other tiles.
Status check_tiles(const PackSource& source, const ModelConfig& model, const std::string& data);

}  // namespace omnibal::runtime
