// SPDX-License-Identifier: Apache-2.0
#include "train/training.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "omnibal/runtime/model/weights.h"
#include "omnibal/runtime/pipeline/pipeline_stages.h"
#include "omnibal/runtime/train/checkpoint.h"
#include "omnibal/runtime/train/trained_parameters.h"
#include "train/agreement.h"

namespace omnibal::runtime {
namespace {

/// Ranks, groups and layers.
Status set_up_stages(Training& training, Communicator& world) {
  const TrainConfig& config = training.config;
  OMNIBAL_ASSIGN(training.model, read_model_config(config.model));
  OMNIBAL_ASSIGN(const plan::PlanReader plan, plan::PlanReader::open(config.plan));
  OMNIBAL_ASSIGN(training.layout, choose_layout(config, plan, training.model));
  OMNIBAL_ASSIGN(training.identity, plan::identify(plan, config.plan));
  const StageCuts cuts{training.layout.schedule, training.layout.cuts};
  OMNIBAL_ASSIGN(training.groups, make_process_groups(world, training.layout.ranks,
                                                      embedding_ranks(training.model, cuts)));
  if (training.layout.ranks.tp > 1) training.tensor.emplace(*training.groups.tp);
  Pipeline& pipeline = training.pipeline;
  pipeline.schedule = schedule::lower(training.layout.schedule);
  pipeline.stages =
      make_pipeline_stages(training.model, cuts, RankIndex{training.groups.pp->rank()},
                           {training.layout.recompute, type_of(config.precision),
                            training.tensor ? &*training.tensor : nullptr});
  OMNIBAL_ASSIGN(const Weights weights, Weights::open(config.model));
  for (PipelineStage& own : pipeline.stages) {
    OMNIBAL_RETURN_IF_ERROR(load_parameters(weights, own.stage));
  }
  training.parameters = parameters_of(pipeline.stages);
  OMNIBAL_ASSIGN(pipeline.first_trained,
                 first_trained_layer(training.model, config.optimizer.rules));
  return {};
}

Status set_up_optimizer(Training& training, Communicator& world) {
  const OptimizerConfig& config = training.config.optimizer;
  const bool tied = training.model.spec.language.tied_embedding;
  OMNIBAL_ASSIGN(TrainedStage trained,
                 trained_parameters(training.parameters, config.rules,
                                    {training.tensor ? &*training.tensor : nullptr,
                                     tied ? training.groups.tie.get() : nullptr}));
  OptimizerOptions options{.groups = std::move(trained.groups),
                           .schedule = {config.schedule, config.warmup, training.num_steps},
                           .beta1 = config.beta1,
                           .beta2 = config.beta2,
                           .eps = config.eps,
                           .max_norm = config.clip};
  OMNIBAL_ASSIGN(training.optimizer,
                 Optimizer::make(std::move(trained.parameters), std::move(options),
                                 *training.groups.dp, world));
  return {};
}

bool runs_first_layer(const Training& training) {
  const auto& stages = training.pipeline.stages;
  return !stages.empty() && stages.front().index.value() == 0;
}

/// Where the checkpoint stood; without one, the first step.
Result<steps::StepCursor> first_cursor(const Training& training, const steps::StepSource& source,
                                       const CheckpointHead* saved) {
  if (saved == nullptr) return steps::first_step(source);
  const codec::JsonFields fields(saved->trainer, saved->path);
  OMNIBAL_ASSIGN(const codec::Json* json, fields.object("cursor"));
  OMNIBAL_ASSIGN(const plan::PlanCursor cursor, plan::parse_cursor(*json, saved->path));
  OMNIBAL_RETURN_IF_ERROR(plan::check_is_of(cursor, training.identity, saved->path));
  return cursor.at;
}

/// The packs from there on, on the ranks that there are now.
Status set_up_data(Training& training, const CheckpointHead* saved) {
  const TrainConfig& config = training.config;
  PackOptions options{.loss = config.loss};
  if (runs_first_layer(training)) {
    OMNIBAL_ASSIGN(options.images, read_image_processor(config.model));
  }
  OMNIBAL_ASSIGN(training.source, PackSource::open(config.data, config.plan, std::move(options)));
  OMNIBAL_RETURN_IF_ERROR(check_tiles(*training.source, training.model, config.data));
  OMNIBAL_ASSIGN(const steps::StepSource source, plan::step_source(training.source->plan()));
  OMNIBAL_ASSIGN(const steps::StepCursor cursor, first_cursor(training, source, saved));
  OMNIBAL_ASSIGN(training.reader, steps::StepReader::open(source, cursor));
  const steps::RankSizes sizes{training.layout.ranks.dp, training.layout.micro_batches};
  if (training.reader->cursor().ranks != sizes) {
    OMNIBAL_ASSIGN(training.reader, training.reader->on_ranks(sizes));
  }
  const std::int64_t done = saved != nullptr ? saved->step : 0;
  const std::int64_t all = done + training.reader->steps_left(config.epochs);
  training.num_steps = config.steps > 0 ? config.steps : all;
  return {};
}

/// Rows behind the checkpoint are cut off: they will be written again.
Status open_log(Training& training, const CheckpointHead* saved) {
  const std::string& path = training.config.log;
  if (path.empty()) return {};
  const bool continues =
      saved != nullptr && saved->trainer.contains("log") && std::filesystem::exists(path);
  if (!continues) {
    OMNIBAL_ASSIGN(training.log, codec::AppendFile::create(path));
    return {};
  }
  const codec::JsonFields fields(saved->trainer.at("log"), saved->path, "log");
  codec::AppendFile::Mark mark;
  OMNIBAL_ASSIGN(mark.bytes, fields.integer("bytes", 0, std::int64_t{1} << 40));
  OMNIBAL_ASSIGN(mark.tail_hash, fields.text("tail_hash"));
  OMNIBAL_ASSIGN(training.log, codec::AppendFile::reopen(path, mark));
  return {};
}

/// The latest checkpoint, the same on all ranks; nothing if there is none.
Result<std::optional<CheckpointHead>> find_checkpoint(const TrainConfig& config,
                                                      Communicator& world) {
  const std::string& root = config.checkpoint.dir;
  const std::string found = root.empty() ? "" : latest_checkpoint(root).value_or("");
  OMNIBAL_ASSIGN(const std::string path, share_path(found, world));
  if (path.empty()) return std::optional<CheckpointHead>();
  OMNIBAL_ASSIGN(CheckpointHead head, read_checkpoint_head(path));
  return std::optional(std::move(head));
}

void begin_loading(Training& training) {
  const auto rank = static_cast<std::size_t>(training.groups.pp->rank());
  training.batches = std::make_unique<StepBatches>(
      *training.source, *training.reader,
      BatchNeeds{.model = training.model,
                 .type = type_of(training.config.precision),
                 .dp_rank = training.groups.dp->rank(),
                 .order = micro_batch_order(training.pipeline.schedule.ranks[rank]),
                 .pixels = runs_first_layer(training)});
}

}  // namespace

at::ScalarType type_of(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return at::kFloat;
    case Precision::kBf16:
      return at::kBFloat16;
    case Precision::kFp64:
      return at::kDouble;
  }
  return at::kFloat;
}

Status check_tiles(const PackSource& source, const ModelConfig& model, const std::string& data) {
  const std::int64_t side = model.spec.vision.image_size;
  if (source.tile_size() == side) return {};
  return Error(ErrorCode::kStalePlan, "the data has tiles of another size than the model")
      .in_file(data)
      .with_value(std::int64_t{source.tile_size()})
      .with_limit(side)
      .with_hint("scan the annotations again with this model");
}

Result<std::unique_ptr<Training>> set_up(const TrainConfig& config, Communicator& world) {
  auto training = std::make_unique<Training>(config);
  OMNIBAL_RETURN_IF_ERROR(set_up_stages(*training, world));
  OMNIBAL_ASSIGN(const std::optional<CheckpointHead> found, find_checkpoint(config, world));
  const CheckpointHead* const saved = found ? &*found : nullptr;
  OMNIBAL_RETURN_IF_ERROR(set_up_data(*training, saved));
  OMNIBAL_RETURN_IF_ERROR(set_up_optimizer(*training, world));
  if (saved != nullptr) {
    OMNIBAL_RETURN_IF_ERROR(load_checkpoint(*saved, {*training->optimizer, training->parameters}));
    training->resumed_from = training->checkpoint = saved->path;
  }
  if (world.rank() == 0) OMNIBAL_RETURN_IF_ERROR(open_log(*training, saved));
  begin_loading(*training);
  return training;
}

Status save(Training& training, Communicator& world) {
  const CheckpointConfig& config = training.config.checkpoint;
  codec::Json trainer = {
      {"seed", training.config.seed},
      {"cursor", plan::to_json(plan::PlanCursor{training.identity, training.reader->cursor()})}};
  if (training.log) {
    OMNIBAL_ASSIGN(const codec::AppendFile::Mark mark, training.log->sync());
    trainer["log"] = {{"bytes", mark.bytes}, {"tail_hash", mark.tail_hash}};
  }
  OMNIBAL_RETURN_IF_ERROR(
      save_checkpoint(config.dir, {*training.optimizer, training.parameters, std::move(trainer)},
                      world, config.keep));
  training.checkpoint = latest_checkpoint(config.dir).value_or("");
  return {};
}

}  // namespace omnibal::runtime
