// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/train/profile.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <exception>
#include <filesystem>

#include "omnibal/base/version.h"
#include "train/measured_packs.h"
#include "train/measured_profile.h"
#include "train/training.h"

namespace omnibal::runtime {
namespace {

/// As many again are parts of packs.
constexpr std::size_t kMeasuredPacks = 8;

/// What can be told before anything is measured.
Status check_asked(const TrainingLayout& layout, const Communicator& world,
                   const std::string& out) {
  if (world.size() > 1) {
    return Error(ErrorCode::kInvalidArgument, "a profile is measured by one process")
        .with_value(std::int64_t{world.size()})
        .with_limit(std::int64_t{1})
        .with_hint("start omnibal-train profile without --np and without mpirun");
  }
  if (layout.ranks.tp > 1) {
    return Error(ErrorCode::kInvalidArgument, "layers are measured without tensor parallelism")
        .at_key("tp")
        .with_value(std::int64_t{layout.ranks.tp})
        .with_limit(std::int64_t{1})
        .with_hint("give --tp 1; the profile then serves plans of tp 1");
  }
  const std::filesystem::path folder = std::filesystem::path(out).parent_path();
  if (folder.empty() || std::filesystem::is_directory(folder)) return {};
  return Error(ErrorCode::kWriteFailed, "there is no folder for the profile")
      .in_file(out)
      .with_hint("make " + folder.string());
}

/// The whole model on this rank, which writes nothing but the profile.
TrainConfig on_one_rank(TrainConfig config) {
  config.dp = config.pp = config.tp = 1;
  config.schedule = schedule::ScheduleKind::kOneFOneB;
  config.recompute = RecomputeChoice::kNone;
  config.checkpoint.dir.clear();
  config.log.clear();
  return config;
}

Status measure_batch(const Training& training, const PackArrays& pack,
                     std::vector<BatchMeasure>& measures) {
  const Stage& stage = training.pipeline.stages.front().stage;
  const BatchNeeds needs{
      .model = training.model, .type = stage.options.type, .order = {}, .pixels = true};
  OMNIBAL_ASSIGN(const PreparedBatch batch,
                 prepare(micro_batch_of(pack, needs), training.model, stage.options.type));
  BatchMeasure measure;
  for (const std::int64_t length : batch.segments) {
    measure.load.token_pairs += static_cast<double>(length * length);
  }
  measure.load.tokens = static_cast<double>(batch.tokens());
  measure.load.vision_units = static_cast<double>(batch.units());
  const std::int64_t first_trained = training.pipeline.first_trained;
  measure.layers = count_layer_bytes(stage, batch, first_trained);
  time_layers(stage, batch, first_trained, measure.layers);
  measures.push_back(std::move(measure));
  return {};
}

/// Packs of a plan are alike: the first half of each tells tokens from token pairs.
Result<std::vector<BatchMeasure>> measure_packs(const Training& training,
                                                const std::vector<std::int64_t>& packs) {
  std::vector<BatchMeasure> measures;
  for (const std::int64_t pack : packs) {
    OMNIBAL_ASSIGN(const PackArrays whole, training.source->load(pack));
    OMNIBAL_RETURN_IF_ERROR(measure_batch(training, whole, measures));
    const std::size_t half = whole.samples.size() / 2;
    if (half == 0) continue;
    const PackArrays part =
        leading_samples(whole, half, training.model.image_token, training.model.unit_tokens());
    OMNIBAL_RETURN_IF_ERROR(measure_batch(training, part, measures));
  }
  return measures;
}

/// On one of `dp` ranks that share the optimizer's states: weight, and where it trains an fp32
/// (fp64) gradient, two moments and, of bf16 weights, a master.
double static_bytes(const Parameter& parameter, std::int64_t dp) {
  const auto weight = static_cast<double>(parameter.tensor.nbytes());
  if (!parameter.tensor.requires_grad()) return weight;
  const bool wide = parameter.tensor.scalar_type() == at::kDouble;
  const bool half = parameter.tensor.scalar_type() == at::kBFloat16;
  const double each = wide ? 8 : 4;
  const double states = each * (half ? 3 : 2) / static_cast<double>(dp);
  return weight + static_cast<double>(parameter.tensor.numel()) * (each + states);
}

/// A tied table counts in the head too, which has its own on another stage.
void add_parameters(const Training& training, std::int64_t dp, cost::Profile& profile) {
  const std::vector<model::Layer>& layers = training.model.spec.layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    profile.layers[i].parameters = static_cast<double>(layers[i].parameters);
    profile.layers[i].trainable = false;
  }
  for (const Parameter& parameter : training.parameters) {
    cost::LayerProfile& layer = profile.layers[static_cast<std::size_t>(parameter.layer)];
    layer.trainable = layer.trainable || parameter.tensor.requires_grad();
    layer.static_bytes.constant += static_bytes(parameter, dp);
    if (parameter.uses < 2) continue;
    profile.layers.back().static_bytes.constant += static_bytes(parameter, dp);
  }
}

/// The plan's own, else the mean of its packs.
cost::Load reference_load(const plan::PlanReader& plan) {
  if (plan.profile() != nullptr) return plan.profile()->load;
  return metrics::mean_load(plan.pack_loads());
}

void describe(const Training& training, std::int64_t dp, MeasuredProfile& measured) {
  const TrainConfig& config = training.config;
  measured.profile.provenance = {{"tool", fmt::format("omnibal-train {}", version())},
                                 {"model", config.model},
                                 {"plan", config.plan},
                                 {"precision", std::string(to_string(config.precision))},
                                 {"tp", "1"},
                                 {"dp", fmt::format("{}", dp)},
                                 {"threads", "1"},
                                 {"micro_batches", fmt::format("{}", measured.micro_batches)},
                                 {"residual", fmt::format("{:.4f}", measured.residual)}};
  const std::vector<std::string>& frozen = config.optimizer.rules.frozen;
  if (frozen.empty()) return;
  measured.profile.provenance.emplace_back("frozen", fmt::format("{}", fmt::join(frozen, ", ")));
}

std::vector<std::string> notes_on(const std::vector<BatchMeasure>& measures) {
  for (const BatchMeasure& measure : measures) {
    if (measure.load.vision_units > 0) return {};
  }
  return {"no measured pack has a picture: what vision layers take a unit is not known"};
}

Result<MeasuredProfile> measure_on_one_rank(const TrainConfig& config, Communicator& world,
                                            std::int64_t dp) {
  OMNIBAL_ASSIGN(const std::unique_ptr<Training> training, set_up(config, world));
  training->batches.reset();  // loads packs in the background
  const plan::PlanReader& plan = training->source->plan();
  const std::vector<std::int64_t> packs = representative_packs(plan.pack_loads(), kMeasuredPacks);
  if (packs.empty()) {
    return Error(ErrorCode::kOutOfRange, "the plan has no pack with tokens: nothing to measure")
        .in_file(config.plan)
        .with_value(training->source->num_packs());
  }
  OMNIBAL_ASSIGN(const std::vector<BatchMeasure> measures, measure_packs(*training, packs));
  MeasuredProfile measured = fit_profile(training->model.spec, measures);
  measured.packs = static_cast<std::int64_t>(packs.size());
  measured.notes = notes_on(measures);
  measured.profile.load = reference_load(plan);
  add_parameters(*training, dp, measured.profile);
  describe(*training, dp, measured);
  return measured;
}

Result<MeasuredProfile> measure_and_write(const TrainConfig& config, Communicator& world,
                                          const std::string& out) {
  OMNIBAL_ASSIGN(const ModelConfig model, read_model_config(config.model));
  OMNIBAL_ASSIGN(const plan::PlanReader plan, plan::PlanReader::open(config.plan));
  OMNIBAL_ASSIGN(const TrainingLayout layout, choose_layout(config, plan, model));
  OMNIBAL_RETURN_IF_ERROR(check_asked(layout, world, out));
  OMNIBAL_ASSIGN(const MeasuredProfile measured,
                 measure_on_one_rank(on_one_rank(config), world, layout.ranks.dp));
  OMNIBAL_RETURN_IF_ERROR(cost::write_profile(measured.profile, out));
  return measured;
}

}  // namespace

Result<MeasuredProfile> measure_profile(const TrainConfig& config, Communicator& world,
                                        const std::string& out) {
  at::set_num_threads(1);
  try {
    return measure_and_write(config, world, out);
  } catch (const std::exception& problem) {  // of libtorch
    return Error(ErrorCode::kInternal, problem.what());
  }
}

}  // namespace omnibal::runtime
