// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/model_balance.h"

namespace omnibal::plan {

using codec::Json;

namespace {

Json partition_json(const JudgedPartition& judged) {
  return {{"cuts", partition::first_layers(judged.cuts)},
          {"recompute", recompute::recomputed_layers(judged.recompute)},
          {"makespan_s", judged.makespan_s}};
}

}  // namespace

Json to_json(const metrics::StageSummary& stage) {
  return {{"first_layer", stage.first_layer}, {"num_layers", stage.num_layers},
          {"forward_s", stage.forward_s},     {"backward_s", stage.backward_s},
          {"recompute_s", stage.recompute_s}, {"static_bytes", stage.static_bytes},
          {"kept_bytes", stage.kept_bytes},   {"transient_bytes", stage.transient_bytes},
          {"peak_bytes", stage.peak_bytes},   {"in_flight", stage.in_flight}};
}

Json to_json(const ModelBalance& balance) {
  Json json = partition_json(balance.best);
  json["stages"] = Json::array();
  for (const metrics::StageSummary& stage : balance.stages) {
    json["stages"].push_back(to_json(stage));
  }
  const metrics::PartitionMetrics& metrics = balance.metrics;
  json["bottleneck_s"] = metrics.bottleneck_s;
  json["bottleneck_forward_s"] = metrics.bottleneck_forward_s;
  json["lower_bound_s"] = metrics.lower_bound_s;
  json["gap"] = metrics.bottleneck_s / metrics.lower_bound_s - 1;
  json["var_forward"] = metrics.var_forward_ms2;
  json["sum_comm_bytes"] = metrics.sum_comm_bytes;
  json["alternatives"] = Json::array();
  for (const JudgedPartition& other : balance.alternatives) {
    json["alternatives"].push_back(partition_json(other));
  }
  return json;
}

}  // namespace omnibal::plan
