// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/model_balance.h"
#include "omnibal/plan/planner.h"

namespace omnibal::plan {
namespace {

using codec::Json;

Json ablation_json(const std::vector<AblationRow>& rows) {
  Json json = Json::array();
  for (const AblationRow& row : rows) {
    json.push_back({{"name", row.name},
                    {"step_s", row.step_s},
                    {"gpu_days", row.gpu_days},
                    {"speedup", row.speedup},
                    {"cuts", row.cuts},
                    {"peak_bytes", row.peak_bytes}});
  }
  return json;
}

Json stages_json(const std::vector<metrics::StageSummary>& stages) {
  Json json = Json::array();
  for (const metrics::StageSummary& stage : stages) json.push_back(to_json(stage));
  return json;
}

Json ranks_json(const std::vector<metrics::RankSummary>& ranks) {
  Json json = Json::array();
  for (const metrics::RankSummary& rank : ranks) json.push_back(to_json(rank));
  return json;
}

Json prediction_json(const Prediction& prediction) {
  return {{"step_s", prediction.step_s},
          {"gpu_days", prediction.gpu_days},
          {"hours", prediction.hours},
          {"peak_bytes", prediction.peak_bytes},
          {"peak_bytes_worst_pack", prediction.peak_bytes_worst_pack},
          {"samples_per_s", prediction.samples_per_s},
          {"tokens_per_s_per_gpu", prediction.tokens_per_s_per_gpu},
          {"mfu", prediction.mfu}};
}

Json link_json(const cluster::Link& link) {
  return {{"bytes_per_s", link.bytes_per_s}, {"latency_s", link.latency_s}};
}

Json cluster_json(const cluster::ClusterSpec& cluster) {
  return {{"name", cluster.name},
          {"devices_per_node", cluster.devices_per_node},
          {"memory_bytes_per_s", cluster.memory_bytes_per_s},
          {"inner", link_json(cluster.inner)},
          {"outer", link_json(cluster.outer)}};
}

}  // namespace

Json to_json(const Plan& plan, const corpus::Corpus& corpus) {
  Json json = to_json(plan.data, corpus, plan.data_options);
  json["model"] = plan.model_name;
  json["cluster"] = cluster_json(plan.cluster);
  json["layout"] = "integrated";
  json["parallel"] = {{"tp", plan.sizes.tp},
                      {"pp", plan.sizes.pp},
                      {"dp", plan.sizes.dp},
                      {"micro_batches", plan.micro_batches}};
  json["partition"] = {{"cuts", partition::first_layers(plan.cuts)},
                       {"stages", stages_json(plan.stages)},
                       {"ranks", ranks_json(plan.ranks)}};
  json.update(recompute_json(plan.recompute, cost::named_choices(plan.profile, plan.choices)));
  json["schedule"] = {{"kind", schedule::to_string(plan.schedule)}, {"chunks", plan.chunks}};
  json["memory_bytes"] = plan.memory_bytes;
  json["links"] = plan.free_links ? "free" : "model";
  json["update"] = simulate::to_string(plan.update);
  json["prediction"] = prediction_json(plan.prediction);
  json["bound"] = {{"gpu_days", plan.bound_gpu_days}};
  json["ablation"] = ablation_json(plan.ablation);
  json["certificate"] = to_json(plan.certificate);
  json["sensitivity"] = to_json(plan.sensitivity);
  if (plan.zero3) json["zero3"] = to_json(*plan.zero3);
  if (plan.layouts) json["layouts"] = to_json(*plan.layouts);
  return json;
}

}  // namespace omnibal::plan
