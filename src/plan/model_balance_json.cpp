// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/model_balance.h"

#include <algorithm>

namespace omnibal::plan {

using codec::Json;

namespace {

Json partition_json(const JudgedPartition& judged) {
  Json json = {{"cuts", partition::first_layers(judged.cuts)}};
  json.update(recompute_json(judged.recompute, judged.named));
  json["makespan_s"] = judged.makespan_s;
  return json;
}

Json move_json(const joint::CutMove& move) {
  Json json = {{"allowed", move.allowed}};
  if (!move.allowed) return json;
  json["fits"] = move.fits;
  json["peak_bytes"] = move.peak_bytes;
  if (!move.fits) return json;
  json["bottleneck_s"] = move.bottleneck_s;
  json["makespan_s"] = move.makespan_s;
  return json;
}

}  // namespace

Json to_json(const std::vector<joint::CutReason>& reasons) {
  Json json = Json::array();
  for (const joint::CutReason& reason : reasons) {
    json.push_back({{"cut", reason.cut.value()},
                    {"left", move_json(reason.left)},
                    {"right", move_json(reason.right)}});
  }
  return json;
}

Json recompute_json(recompute::RecomputeMask recompute,
                    const std::vector<cost::NamedChoice>& named) {
  Json json;
  Json choices = Json::object();
  for (const cost::NamedChoice& one : named) {
    recompute[static_cast<std::size_t>(one.layer)] = false;
    choices[std::to_string(one.layer)] = one.name;
  }
  json["recompute"] = recompute::recomputed_layers(recompute);
  if (!named.empty()) json["recompute_choice"] = std::move(choices);
  return json;
}

Json to_json(const metrics::StageSummary& stage) {
  return {{"rank", stage.rank},
          {"first_layer", stage.first_layer},
          {"num_layers", stage.num_layers},
          {"forward_s", stage.forward_s},
          {"backward_s", stage.backward_s},
          {"recompute_s", stage.recompute_s},
          {"static_bytes", stage.static_bytes},
          {"kept_bytes", stage.kept_bytes},
          {"transient_bytes", stage.transient_bytes},
          {"peak_bytes", stage.peak_bytes},
          {"in_flight", stage.in_flight}};
}

Json to_json(const metrics::RankSummary& rank) {
  return {{"stages", rank.stages},
          {"busy_s", rank.busy_s},
          {"static_bytes", rank.static_bytes},
          {"peak_bytes", rank.peak_bytes}};
}

Json to_json(const ModelBalance& balance) {
  Json json = partition_json(balance.best);
  json["stages"] = Json::array();
  for (const metrics::StageSummary& stage : balance.stages) {
    json["stages"].push_back(to_json(stage));
  }
  json["ranks"] = Json::array();
  for (const metrics::RankSummary& rank : balance.ranks) json["ranks"].push_back(to_json(rank));
  const metrics::PartitionMetrics& metrics = balance.metrics;
  json["bottleneck_s"] = metrics.bottleneck_s;
  json["bottleneck_forward_s"] = metrics.bottleneck_forward_s;
  // A certificate's seconds are whole ticks: equal ones may differ in the last digit.
  json["lower_bound_s"] = balance.certificate
                              ? std::min(balance.certificate->lower_bound_s, metrics.bottleneck_s)
                              : metrics.lower_bound_s;
  const double bound = json["lower_bound_s"];
  json["gap"] = bound > 0 ? metrics.bottleneck_s / bound - 1 : 0.0;
  json["var_forward"] = metrics.var_forward_ms2;
  json["sum_comm_bytes"] = metrics.sum_comm_bytes;
  if (balance.certificate) {
    json["certificate"] = {{"proven", balance.certificate->proven},
                           {"makespan_bound_s", balance.certificate->makespan_bound_s},
                           {"cuts", to_json(balance.certificate->cuts)}};
  }
  if (balance.cost_of_restriction) json["cost_of_restriction"] = *balance.cost_of_restriction;
  json["alternatives"] = Json::array();
  for (const JudgedPartition& other : balance.alternatives) {
    json["alternatives"].push_back(partition_json(other));
  }
  return json;
}

}  // namespace omnibal::plan
