// SPDX-License-Identifier: Apache-2.0
//
// The stages that a pipeline rank runs of a model cut into stages, and who has which end of it.
//
//   const StageCuts cuts{schedule, {8, 16, 24}};           // four stages
//   std::vector<PipelineStage> stages = make_pipeline_stages(config, cuts, rank, {recompute});
//   for (PipelineStage& own : stages) load_parameters(weights, own.stage);
//
// Not a choice of the cuts.
#pragma once

#include <cstdint>
#include <vector>

#include "omnibal/runtime/comm/process_groups.h"
#include "omnibal/runtime/pipeline/pipeline.h"

namespace omnibal::runtime {

struct StageCuts {
  const schedule::Schedule& schedule;
  std::vector<std::int64_t> cuts;  // layers at which a new stage begins, ascending
};

struct PipelineStageOptions {
  std::vector<Recompute> recompute;  // by layer of the model
  at::ScalarType type = at::kFloat;
  const TensorGroup* group = nullptr;  // outlives the stages
};

/// Of a tied embedding whose ends are in two stages of the rank, both use one table: it is a
/// parameter of the first alone, with two uses.
std::vector<PipelineStage> make_pipeline_stages(const ModelConfig& config, const StageCuts& cuts,
                                                RankIndex rank,
                                                const PipelineStageOptions& options);

/// All parameters of a rank's stages, in their order.
std::vector<Parameter> parameters_of(const std::vector<PipelineStage>& stages);

/// The pipeline ranks of token embedding and head.
EmbeddingStages embedding_ranks(const ModelConfig& config, const StageCuts& cuts);

}  // namespace omnibal::runtime
