// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/pipeline/pipeline_stages.h"

#include <algorithm>

namespace omnibal::runtime {
namespace {

/// A parameter of the rank's earlier stages takes the place of the head's own copy.
void share_table(std::vector<PipelineStage>& stages, Stage& last) {
  const auto copy = std::ranges::find_if(last.parameters, &Parameter::tied_copy);
  if (copy == last.parameters.end()) return;
  for (PipelineStage& other : stages) {
    const auto table = std::ranges::find(other.stage.parameters, copy->name, &Parameter::name);
    if (table == other.stage.parameters.end()) continue;
    std::get<Head>(last.layers.back()).words.weight = table->tensor;
    ++table->uses;
    last.parameters.erase(copy);
    return;
  }
}

std::int32_t stage_of(const ModelConfig& config, const StageCuts& cuts, model::LayerKind kind) {
  const auto layer = std::ranges::find(config.spec.layers, kind, &model::Layer::kind);
  const std::int64_t index = layer - config.spec.layers.begin();
  return static_cast<std::int32_t>(std::ranges::upper_bound(cuts.cuts, index) - cuts.cuts.begin());
}

int rank_of(const StageCuts& cuts, std::int32_t stage) {
  return cuts.schedule.stage_rank[static_cast<std::size_t>(stage)].value();
}

}  // namespace

std::vector<PipelineStage> make_pipeline_stages(const ModelConfig& config, const StageCuts& cuts,
                                                RankIndex rank,
                                                const PipelineStageOptions& options) {
  std::vector<std::int64_t> bounds = {0};
  bounds.insert(bounds.end(), cuts.cuts.begin(), cuts.cuts.end());
  bounds.push_back(static_cast<std::int64_t>(config.spec.layers.size()));
  std::vector<PipelineStage> stages;
  for (std::int32_t i = 0; i < cuts.schedule.num_stages; ++i) {
    if (rank_of(cuts, i) != rank.value()) continue;
    const std::int64_t first = bounds[static_cast<std::size_t>(i)];
    const std::int64_t end = bounds[static_cast<std::size_t>(i) + 1];
    Stage stage = make_stage(
        config, {.first = first, .end = end, .type = options.type, .group = options.group});
    share_table(stages, stage);
    stages.push_back({StageIndex{i},
                      std::move(stage),
                      {options.recompute.begin() + first, options.recompute.begin() + end}});
  }
  return stages;
}

std::vector<Parameter> parameters_of(const std::vector<PipelineStage>& stages) {
  std::vector<Parameter> all;
  for (const PipelineStage& own : stages) {
    all.insert(all.end(), own.stage.parameters.begin(), own.stage.parameters.end());
  }
  return all;
}

EmbeddingStages embedding_ranks(const ModelConfig& config, const StageCuts& cuts) {
  return {rank_of(cuts, stage_of(config, cuts, model::LayerKind::kTokenEmbedding)),
          rank_of(cuts, stage_of(config, cuts, model::LayerKind::kHead))};
}

}  // namespace omnibal::runtime
