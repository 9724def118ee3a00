// SPDX-License-Identifier: Apache-2.0
#include "train/training_layout.h"

#include <fmt/format.h>

namespace omnibal::runtime {
namespace {

Status check_model(const TrainConfig& config, const plan::PlanReader& plan,
                   const ModelConfig& model) {
  const std::vector<cost::LayerProfile>& planned = plan.profile()->layers;
  const std::vector<model::Layer>& layers = model.spec.layers;
  bool same = planned.size() == layers.size();
  for (std::size_t i = 0; same && i < layers.size(); ++i) same = planned[i].name == layers[i].name;
  if (same) return {};
  return Error(ErrorCode::kStalePlan,
               fmt::format("the plan is of a model with {} layers, {} has {}", planned.size(),
                           config.model, layers.size()))
      .in_file(config.plan)
      .with_value(static_cast<std::int64_t>(planned.size()))
      .with_limit(static_cast<std::int64_t>(layers.size()))
      .with_hint("plan with --model " + config.model + "/config.json");
}

/// Colocated and disjoint towers are predicted, not executed.
Status check_integrated(const TrainConfig& config, const plan::PlanReader& plan) {
  const auto& document = plan.document();
  if (!document.contains("layout") || document.at("layout") == "integrated") return {};
  return Error(ErrorCode::kInvalidPlan, "the trainer runs layout integrated alone")
      .in_file(config.plan)
      .at_key("layout")
      .with_hint("plan with --layout integrated");
}

/// What decides the stages.
struct Shape {
  std::int64_t pp = 1;
  schedule::ScheduleKind kind = schedule::ScheduleKind::kOneFOneB;
  std::int32_t chunks = 1;

  std::int32_t num_stages() const { return static_cast<std::int32_t>(pp) * chunks; }
};

Shape shape_of(const TrainConfig& config, const plan::PlanPipeline* planned) {
  Shape shape;
  if (planned != nullptr) {
    shape = {planned->sizes.pp, planned->schedule.kind, schedule::num_chunks(planned->schedule)};
  }
  if (config.pp > 0) shape.pp = config.pp;
  if (config.schedule && *config.schedule != shape.kind) {
    shape.kind = *config.schedule;
    shape.chunks = schedule::fewest_chunks(shape.kind);
  }
  return shape;
}

/// Stages alike in time, as far as the plan knows times.
Result<partition::Cuts> new_cuts(const plan::PlanPipeline* planned, std::int32_t num_layers,
                                 std::int32_t num_stages) {
  if (planned == nullptr) return partition::partition_even_layers(num_layers, num_stages);
  std::vector<double> seconds;
  for (const cost::LayerProfile& layer : planned->profile.layers) {
    cost::LinearCost all = layer.forward_s;
    all += layer.input_grad_s;
    all += layer.weight_grad_s;
    seconds.push_back(all.at(planned->profile.load));
  }
  return partition::partition_min_max(seconds, num_stages);
}

/// A choice of the plan's that is no part of a block ("offload", or one of a measured profile)
/// spares memory in the way that spares most: the layer recomputes.
Recompute named_choice(const std::string& name, model::LayerKind kind) {
  const bool block = kind == model::LayerKind::kVisionBlock || kind == model::LayerKind::kLlmBlock;
  if (block && name == "attention") return Recompute::kAttention;
  if (block && name == "mlp") return Recompute::kMlp;
  if (block && name == "attention+mlp") return Recompute::kAttentionAndMlp;
  return Recompute::kEverything;
}

std::vector<Recompute> planned_recompute(const plan::PlanPipeline& planned,
                                         const model::ModelSpec& spec) {
  std::vector<Recompute> choices(planned.recompute.size(), Recompute::kNothing);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (planned.recompute[i]) choices[i] = Recompute::kEverything;
  }
  for (const cost::NamedChoice& named : planned.named) {
    const auto layer = static_cast<std::size_t>(named.layer);
    choices[layer] = named_choice(named.name, spec.layers[layer].kind);
  }
  return choices;
}

/// The others keep as much where they recompute (docs/methods/cost.md).
bool spares_by_recomputing(model::LayerKind kind) {
  return kind != model::LayerKind::kTokenEmbedding && kind != model::LayerKind::kHead;
}

std::vector<Recompute> recompute_of(const TrainConfig& config, const plan::PlanPipeline* planned,
                                    const model::ModelSpec& spec) {
  if (config.recompute == RecomputeChoice::kPlan && planned != nullptr) {
    return planned_recompute(*planned, spec);
  }
  std::vector<Recompute> choices(spec.layers.size(), Recompute::kNothing);
  for (std::size_t i = 0; config.recompute == RecomputeChoice::kFull && i < choices.size(); ++i) {
    if (spares_by_recomputing(spec.layers[i].kind)) choices[i] = Recompute::kEverything;
  }
  return choices;
}

/// A step keeps its packs, whatever dp; it has a few more where dp does not divide them.
std::int64_t micro_batches_of(const plan::PlanReader& plan, std::int64_t dp) {
  const std::int64_t packs = plan.steps()->dp * plan.steps()->micro_batches;
  return (packs + dp - 1) / dp;
}

}  // namespace

Result<TrainingLayout> choose_layout(const TrainConfig& config, const plan::PlanReader& plan,
                                     const ModelConfig& model) {
  OMNIBAL_RETURN_IF_ERROR(check_integrated(config, plan));
  TrainingLayout layout;
  if (plan.profile() != nullptr) {
    OMNIBAL_RETURN_IF_ERROR(check_model(config, plan, model));
    OMNIBAL_ASSIGN(layout.predicted, plan::read_pipeline(plan));
  }
  const plan::PlanPipeline* const planned = layout.predicted ? &*layout.predicted : nullptr;
  const Shape shape = shape_of(config, planned);
  const std::int64_t planned_tp = planned != nullptr ? planned->sizes.tp : 1;
  const std::int64_t dp = config.dp > 0 ? config.dp : plan.steps()->dp;
  const std::int64_t tp = config.tp > 0 ? config.tp : planned_tp;
  layout.micro_batches = micro_batches_of(plan, dp);
  layout.ranks = {static_cast<int>(dp), static_cast<int>(shape.pp), static_cast<int>(tp)};
  OMNIBAL_ASSIGN(layout.schedule,
                 schedule::make_schedule(shape.kind, shape.num_stages(),
                                         static_cast<std::int32_t>(layout.micro_batches),
                                         {.chunks = shape.chunks}));
  const std::size_t num_layers = model.spec.layers.size();
  partition::Cuts cuts = planned != nullptr ? planned->cuts : partition::Cuts();
  if (static_cast<std::int32_t>(cuts.size()) + 1 != shape.num_stages()) {
    OMNIBAL_ASSIGN(cuts,
                   new_cuts(planned, static_cast<std::int32_t>(num_layers), shape.num_stages()));
  }
  const std::vector<std::int32_t> first = partition::first_layers(cuts);
  layout.cuts.assign(first.begin(), first.end());
  layout.recompute = recompute_of(config, planned, model.spec);
  const bool as_planned = planned != nullptr && shape.kind == planned->schedule.kind &&
                          shape.pp == planned->sizes.pp && tp == planned_tp &&
                          dp == plan.steps()->dp &&
                          layout.recompute == planned_recompute(*planned, model.spec);
  if (!as_planned) layout.predicted.reset();
  return layout;
}

}  // namespace omnibal::runtime
