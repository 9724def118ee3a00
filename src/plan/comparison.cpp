// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/comparison.h"

#include <algorithm>

#include "omnibal/cluster/cluster.h"
#include "omnibal/cost/analytic.h"
#include "omnibal/model/model.h"

namespace omnibal::plan {
namespace {

Result<steps::StepTable> deal(const std::string& name, const pack::Grouping& grouping,
                              const std::vector<metrics::PackLoad>& loads,
                              const steps::StepOptions& options) {
  if (name == kOurMethod) return steps::form_steps(loads, options);
  if (!grouping.padded) return steps::deal_randomly(grouping.packs.size(), options);
  steps::StepTable table;
  table.dp = options.dp;
  table.pack_ids = grouping.grid;
  return table;
}

}  // namespace

Result<std::vector<std::string>> methods_to_compare(const std::vector<std::string>& asked) {
  std::vector<std::string> methods = {"random", "sorted", "device-group", "isf", kOurMethod};
  for (const std::string& name : asked.empty() ? pack::method_names() : asked) {
    if (std::ranges::find(methods, name) != methods.end()) continue;
    OMNIBAL_ASSIGN(const pack::Method method, pack::parse_method(name));
    methods.insert(methods.end() - 1, std::string(pack::to_string(method)));
  }
  return methods;
}

Result<DealtGrouping> deal_by_method(const std::string& name, const ComparisonTask& task,
                                     const Progress& progress) {
  OMNIBAL_ASSIGN(const pack::Method method, pack::parse_method(name == kOurMethod ? "isf" : name));
  DealtGrouping dealt;
  dealt.grouping = pack::group_samples(method, task.samples, task.accepted, task.request, progress);
  dealt.loads = dealt.grouping.loads(task.samples);
  steps::StepOptions options = task.steps;
  options.forward = task.forward;
  OMNIBAL_ASSIGN(dealt.table, deal(name, dealt.grouping, dealt.loads, options));
  return dealt;
}

MethodFigures judge(const DealtGrouping& dealt, const ComparisonTask& task) {
  const pack::Grouping& grouping = dealt.grouping;
  return {.packs = grouping.packs.size(),
          .pad_ratio = grouping.pad_ratio(task.samples, 1),
          .dist = metrics::dist_ratios(dealt.table.grid(), dealt.loads, task.forward),
          .fill = metrics::fill(metrics::packed_loads(grouping.packs.view(), task.samples),
                                task.request.limits.caps())};
}

Result<cost::LinearCost> forward_of(const std::string& model) {
  OMNIBAL_ASSIGN(const model::ModelSpec spec, model::load_model(model));
  OMNIBAL_ASSIGN(const cluster::ClusterSpec cluster, cluster::load_cluster("a100-80g"));
  OMNIBAL_ASSIGN(const cost::Profile profile, cost::analytic_profile(spec, cluster, {}));
  return cost::total_forward(profile);
}

}  // namespace omnibal::plan
