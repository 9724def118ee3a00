// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "checks.h"
#include "omnibal/metrics/stages.h"
#include "omnibal/plan/plan_pipeline.h"

namespace omnibal::verify {
namespace {

using codec::Json;
using codec::JsonFields;

const std::string kDocument(plan::kPlanDocument);

/// The load of a pack at both caps, one segment long.
Result<cost::Load> load_at_caps(const plan::PlanReader& plan) {
  OMNIBAL_ASSIGN(const Json* limits, JsonFields(plan.document(), kDocument).object("limits"));
  const JsonFields fields(*limits, kDocument, "limits");
  OMNIBAL_ASSIGN(const double vision, fields.number("vision_cap", 0, 1e12));
  OMNIBAL_ASSIGN(const double tokens, fields.number("token_cap", 1, 1e12));
  return cost::Load{vision, tokens, tokens * tokens};
}

Result<std::vector<metrics::StageSummary>> stages_at_caps(const plan::PlanReader& plan) {
  OMNIBAL_ASSIGN(const plan::PlanPipeline pipeline, plan::read_pipeline(plan));
  OMNIBAL_ASSIGN(const cost::Load load, load_at_caps(plan));
  return metrics::summarize_stages(cost::evaluate(*plan.profile(), load),
                                   partition::first_layers(pipeline.cuts), pipeline.recompute,
                                   schedule::in_flight(pipeline.schedule));
}

Status check_stage(const Json& claimed, const metrics::StageSummary& stage) {
  OMNIBAL_RETURN_IF_ERROR(agree(claimed, "first_layer", std::int64_t{stage.first_layer}));
  OMNIBAL_RETURN_IF_ERROR(agree(claimed, "num_layers", std::int64_t{stage.num_layers}));
  OMNIBAL_RETURN_IF_ERROR(agree(claimed, "forward_s", stage.forward_s));
  OMNIBAL_RETURN_IF_ERROR(agree(claimed, "backward_s", stage.backward_s));
  OMNIBAL_RETURN_IF_ERROR(agree(claimed, "recompute_s", stage.recompute_s));
  OMNIBAL_RETURN_IF_ERROR(agree(claimed, "static_bytes", stage.static_bytes));
  return agree(claimed, "peak_bytes", stage.peak_bytes);
}

/// Seconds of all samples' forward and backward, on the devices of one tensor group each.
double useful_seconds(const plan::PlanReader& plan) {
  cost::Load all;
  for (const std::int64_t id : plan.pack_samples()) {
    const auto sample = static_cast<std::size_t>(id);
    const double tokens = plan.sample_tokens()[sample];
    all.vision_units += plan.sample_vision()[sample];
    all.tokens += tokens;
    all.token_pairs += tokens * tokens;
  }
  double seconds = 0;
  for (const cost::LayerTimes& layer : cost::layer_times(*plan.profile())) {
    seconds += layer.forward_s.at(all) + layer.backward_s.at(all);
  }
  return seconds;
}

/// Rows of the ablation agree with each other and with what the plan itself is.
Status check_ablation(const Json& rows, double gpus_per_day, std::int64_t num_steps,
                      double free_step_s) {
  for (const Json& row : rows) {
    const JsonFields fields(row, kDocument, "ablation");
    OMNIBAL_ASSIGN(const std::string name, fields.text("name"));
    OMNIBAL_ASSIGN(const double step_s, fields.number("step_s", 0, 1e12));
    OMNIBAL_ASSIGN(const double gpu_days, fields.number("gpu_days", 0, 1e15));
    OMNIBAL_RETURN_IF_ERROR(agree(row, "speedup", rows[0].value("gpu_days", 0.0) / gpu_days));
    if (name != "+steps") continue;
    OMNIBAL_RETURN_IF_ERROR(agree(row, "step_s", free_step_s));
    OMNIBAL_RETURN_IF_ERROR(
        agree(row, "gpu_days", step_s * static_cast<double>(num_steps) * gpus_per_day));
  }
  return {};
}

double mean_step(const plan::StepPipeline& pipeline, const plan::PlanReader& plan, int threads) {
  const std::vector<double> seconds =
      plan::step_seconds(pipeline, *plan.steps(), plan.pack_loads(), threads);
  return std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
}

}  // namespace

Finding check_parallel(const plan::PlanReader& plan) {
  OMNIBAL_ASSIGN(const Json* parallel, JsonFields(plan.document(), kDocument).object("parallel"));
  const JsonFields fields(*parallel, kDocument, "parallel");
  constexpr std::int64_t kMost = 1 << 24;
  OMNIBAL_ASSIGN(const std::int64_t tp, fields.integer("tp", 1, kMost));
  OMNIBAL_ASSIGN(const std::int64_t pp, fields.integer("pp", 1, kMost));
  if (plan.steps() == nullptr) return violation("a model part without steps");
  OMNIBAL_RETURN_IF_ERROR(agree(*parallel, "dp", plan.steps()->dp));
  OMNIBAL_RETURN_IF_ERROR(agree(*parallel, "micro_batches", plan.steps()->micro_batches));
  return fmt::format("tp {} x pp {} x dp {}, {} micro-batches a rank", tp, pp, plan.steps()->dp,
                     plan.steps()->micro_batches);
}

Finding check_partition(const plan::PlanReader& plan) {
  OMNIBAL_ASSIGN(const std::vector<metrics::StageSummary> stages, stages_at_caps(plan));
  OMNIBAL_ASSIGN(const Json* partition, JsonFields(plan.document(), kDocument).object("partition"));
  OMNIBAL_ASSIGN(const Json* claimed,
                 JsonFields(*partition, kDocument, "partition").array("stages"));
  if (claimed->size() != stages.size()) {
    return violation("plan.json lists {} stages, its cuts make {}", claimed->size(), stages.size());
  }
  for (std::size_t s = 0; s < stages.size(); ++s) {
    OMNIBAL_RETURN_IF_ERROR(check_stage((*claimed)[s], stages[s]));
  }
  return fmt::format("{} stages hold {} layers, each once", stages.size(),
                     plan.profile()->layers.size());
}

Finding check_recompute(const plan::PlanReader& plan) {
  OMNIBAL_ASSIGN(const plan::PlanPipeline pipeline, plan::read_pipeline(plan));
  const std::vector<cost::LayerCost> costs = cost::evaluate(*plan.profile(), plan.profile()->load);
  for (std::size_t layer = 0; layer < costs.size(); ++layer) {
    if (pipeline.recompute[layer] && !costs[layer].can_recompute) {
      return violation("layer {} recomputes but has nothing to gain", layer);
    }
  }
  return fmt::format("{} of {} layers recompute", std::ranges::count(pipeline.recompute, true),
                     costs.size());
}

Finding check_memory(const plan::PlanReader& plan) {
  OMNIBAL_ASSIGN(const std::vector<metrics::StageSummary> stages, stages_at_caps(plan));
  const JsonFields root(plan.document(), kDocument);
  OMNIBAL_ASSIGN(const std::int64_t limit,
                 root.integer("memory_bytes", 0, std::numeric_limits<std::int64_t>::max()));
  std::int64_t peak = 0;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    peak = std::max(peak, stages[s].peak_bytes);
    if (stages[s].peak_bytes > limit) {
      return violation("stage {} needs {} bytes, the limit is {}", s, stages[s].peak_bytes, limit);
    }
  }
  OMNIBAL_ASSIGN(const Json* prediction, root.object("prediction"));
  OMNIBAL_RETURN_IF_ERROR(agree(*prediction, "peak_bytes", peak));
  return fmt::format("fullest stage {:.1f} GB of {:.1f} GB, every micro-batch at the caps",
                     static_cast<double>(peak) / 1e9, static_cast<double>(limit) / 1e9);
}

Finding check_prediction(const plan::PlanReader& plan, const VerifyOptions& options) {
  // Sums and simulations below rely on indices that other checks report.
  OMNIBAL_RETURN_IF_ERROR(check_exactly_once(plan));
  OMNIBAL_RETURN_IF_ERROR(check_steps(plan));
  OMNIBAL_ASSIGN(plan::PlanPipeline pipeline, plan::read_pipeline(plan));
  const JsonFields root(plan.document(), kDocument);
  OMNIBAL_ASSIGN(const Json* prediction, root.object("prediction"));
  OMNIBAL_ASSIGN(const Json* bound, root.object("bound"));
  OMNIBAL_ASSIGN(const Json* rows, root.array("ablation"));
  const auto num_steps = static_cast<double>(plan.steps()->num_steps);
  const double gpus_per_day = static_cast<double>(pipeline.sizes.gpus()) / 86400;
  const double step_s = mean_step(pipeline.steps, plan, options.threads);
  const double total = step_s * num_steps;
  OMNIBAL_RETURN_IF_ERROR(agree(*prediction, "step_s", step_s));
  OMNIBAL_RETURN_IF_ERROR(agree(*prediction, "gpu_days", total * gpus_per_day));
  OMNIBAL_RETURN_IF_ERROR(agree(*prediction, "hours", total / 3600));
  OMNIBAL_RETURN_IF_ERROR(
      agree(*prediction, "samples_per_s", static_cast<double>(plan.pack_samples().size()) / total));
  OMNIBAL_RETURN_IF_ERROR(agree(
      *bound, "gpu_days", useful_seconds(plan) * static_cast<double>(pipeline.sizes.tp) / 86400));
  pipeline.steps.links.clear();
  OMNIBAL_RETURN_IF_ERROR(check_ablation(*rows, gpus_per_day, plan.steps()->num_steps,
                                         mean_step(pipeline.steps, plan, options.threads)));
  return fmt::format("{:.3f} s a step, {:.2f} GPU days by simulating every step again", step_s,
                     total * gpus_per_day);
}

}  // namespace omnibal::verify
