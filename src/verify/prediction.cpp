// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "checks.h"
#include "omnibal/base/version.h"
#include "omnibal/cost/analytic.h"
#include "omnibal/plan/plan_pipeline.h"
#include "simulated_epoch.h"

namespace omnibal::verify {
namespace {

using codec::Json;
using codec::JsonFields;

/// All placed samples together, each a segment of its own, without padding.
cost::Load placed_load(const plan::PlanReader& plan) {
  cost::Load all;
  for (const std::int64_t id : plan.pack_samples()) {
    const auto sample = static_cast<std::size_t>(id);
    const double tokens = plan.sample_tokens()[sample];
    all.vision_units += plan.sample_vision()[sample];
    all.tokens += tokens;
    all.token_pairs += tokens * tokens;
  }
  return all;
}

/// Forward and backward seconds of all layers for `load`, on the devices of one tensor group each.
double useful_seconds(const cost::Profile& profile, const cost::Load& load) {
  double seconds = 0;
  for (const cost::LayerTimes& layer : cost::layer_times(profile)) {
    seconds += layer.forward_s.at(load) + layer.backward_s.at(load);
  }
  return seconds;
}

bool is_known_model(const std::string& name) {
  const auto among = [](std::string_view text, const std::vector<std::string>& names) {
    return std::ranges::find(names, text) != names.end();
  };
  if (among(name, model::model_presets())) return true;
  const std::size_t plus = name.find('+');
  return plus != std::string::npos && among(name.substr(0, plus), model::vision_tower_names()) &&
         among(name.substr(plus + 1), model::language_model_names());
}

bool has_adapters(const JsonFields& options) {
  if (!options.has("lora")) return false;
  const Result<const Json*> parts = options.array("lora");
  return !parts.ok() || !(*parts)->empty();
}

/// Whether the model and the cluster are what their names say to this version: both are known
/// names as typed, the costs come from the formulas and nothing is frozen
/// or adapted.
Result<bool> formulas_apply(const plan::PlanReader& plan) {
  const JsonFields root(plan.document(), plan::plan_document_name());
  OMNIBAL_ASSIGN(const Json* provenance, root.object("provenance"));
  const JsonFields origin(*provenance, plan::plan_document_name(), "provenance");
  OMNIBAL_ASSIGN(const Json* typed, origin.object("options"));
  const JsonFields options(*typed, plan::plan_document_name(), "provenance.options");
  OMNIBAL_ASSIGN(const Json* cluster, root.object("cluster"));
  OMNIBAL_ASSIGN(const std::string tool, origin.text("tool"));
  OMNIBAL_ASSIGN(const std::string model, root.text("model"));
  OMNIBAL_ASSIGN(const std::string cluster_name,
                 JsonFields(*cluster, plan::plan_document_name(), "cluster").text("name"));
  OMNIBAL_ASSIGN(const std::string typed_model, options.text_or("model", ""));
  OMNIBAL_ASSIGN(const std::string typed_cluster, options.text_or("cluster", ""));
  const std::vector<std::string> clusters = cluster::cluster_presets();
  return tool == fmt::format("omnibal {}", version()) && model == typed_model &&
         is_known_model(model) && cluster_name == typed_cluster &&
         std::ranges::find(clusters, cluster_name) != clusters.end() && !options.has("profile") &&
         plan.profile()->source == "analytic" && !has_adapters(options) &&
         std::ranges::all_of(plan.profile()->layers, &cost::LayerProfile::trainable);
}

/// Model FLOPs over peak FLOPs, where the formulas apply. True: recomputed.
Result<bool> check_mfu(const plan::PlanReader& plan, const Json& prediction, const cost::Load& all,
                       double gpu_seconds) {
  OMNIBAL_ASSIGN(const bool applies, formulas_apply(plan));
  if (!applies) return false;
  OMNIBAL_ASSIGN(const model::ModelSpec model,
                 model::load_model(plan.document()["model"].get<std::string>()));
  OMNIBAL_ASSIGN(const cluster::ClusterSpec cluster,
                 cluster::load_cluster(plan.document()["cluster"]["name"].get<std::string>()));
  OMNIBAL_ASSIGN(const cost::Profile alone, cost::analytic_profile(model, cluster, {}));
  const double flops = useful_seconds(alone, all) * cluster.achieved_flops;
  OMNIBAL_RETURN_IF_ERROR(agree(prediction, "mfu", flops / (gpu_seconds * cluster.peak_flops)));
  return true;
}

Status check_rates(const plan::PlanReader& plan, const Json& prediction, double total,
                   double gpus) {
  const auto placed = static_cast<double>(plan.pack_samples().size());
  OMNIBAL_RETURN_IF_ERROR(agree(prediction, "gpu_days", total * gpus / 86400));
  OMNIBAL_RETURN_IF_ERROR(agree(prediction, "hours", total / 3600));
  OMNIBAL_RETURN_IF_ERROR(agree(prediction, "samples_per_s", placed / total));
  return agree(prediction, "tokens_per_s_per_gpu", placed_load(plan).tokens / (total * gpus));
}

}  // namespace

double mean_step_seconds(const plan::PlanReader& plan, const plan::StepPipeline& pipeline,
                         int threads) {
  const std::vector<double> seconds =
      plan::step_seconds(pipeline, *plan.steps(), plan.pack_loads(), threads);
  return std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
}

Finding check_prediction(const plan::PlanReader& plan, const VerifyOptions& options) {
  OMNIBAL_RETURN_IF_ERROR(check_structure(plan));
  OMNIBAL_ASSIGN(const plan::PlanPipeline pipeline, plan::read_pipeline(plan));
  const double step_s = mean_step_seconds(plan, pipeline.steps, options.threads);
  const JsonFields root(plan.document(), plan::plan_document_name());
  OMNIBAL_ASSIGN(const Json* prediction, root.object("prediction"));
  OMNIBAL_ASSIGN(const Json* bound, root.object("bound"));
  const double total = step_s * static_cast<double>(plan.steps()->num_steps);
  const auto gpus = static_cast<double>(pipeline.sizes.gpus());
  OMNIBAL_RETURN_IF_ERROR(agree(*prediction, "step_s", step_s));
  OMNIBAL_RETURN_IF_ERROR(check_rates(plan, *prediction, total, gpus));
  const cost::Load all = placed_load(plan);
  const auto other_packs = static_cast<double>(plan.pack_loads().size()) - 1;
  const double useful_s =
      useful_seconds(*plan.profile(), all) + other_packs * useful_seconds(*plan.profile(), {});
  OMNIBAL_RETURN_IF_ERROR(
      agree(*bound, "gpu_days", useful_s * static_cast<double>(pipeline.sizes.tp) / 86400));
  OMNIBAL_ASSIGN(const bool mfu, check_mfu(plan, *prediction, all, total * gpus));
  return fmt::format("{:.3f} s a step, {:.2f} GPU days by simulating every step again{}", step_s,
                     total * gpus / 86400,
                     mfu ? ""
                         : "; mfu not recomputed: that takes a known model and cluster, nothing "
                           "frozen or adapted, no --profile");
}

}  // namespace omnibal::verify
