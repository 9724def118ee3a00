// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/comparison.h"

#include <algorithm>

#include "omnibal/cluster/cluster.h"
#include "omnibal/cost/analytic.h"
#include "omnibal/model/model.h"
#include "omnibal/plan/pack_time.h"
#include "omnibal/plan/worst_pack.h"

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

steps::StepOptions step_options(const ComparisonTask& task, std::int64_t dp) {
  steps::StepOptions options = task.steps;
  options.dp = dp;
  options.forward = task.forward;
  return options;
}

/// Of the samples as they are, padding left out.
metrics::Fill fill_of(const DealtGrouping& dealt, const ComparisonTask& task) {
  const metrics::PackCaps caps = task.request.limits.caps();
  if (!dealt.grouping.padded) return metrics::fill(dealt.loads, caps);
  return metrics::fill(metrics::packed_loads(dealt.grouping.packs.view(), task.samples), caps);
}

Result<cost::Profile> profile_of(const std::string& model) {
  OMNIBAL_ASSIGN(const model::ModelSpec spec, model::load_model(model));
  OMNIBAL_ASSIGN(const cluster::ClusterSpec cluster, cluster::load_cluster("a100-80g"));
  return cost::analytic_profile(spec, cluster, {});
}

}  // namespace

Result<std::vector<std::string>> methods_to_compare(const std::vector<std::string>& asked) {
  std::vector<std::string> methods = {"random", "sorted", "device-group", "isf", kOurMethod};
  for (const std::string& name : asked.empty() ? pack::method_names() : asked) {
    if (std::ranges::find(methods, name) != methods.end()) continue;
    if (asked.empty() && name == pack::to_string(pack::Method::kAuto)) continue;
    const Result<pack::Method> method = pack::parse_method(name);
    if (!method) return Error(method.error()).at_key("methods");
    methods.insert(methods.end() - 1, std::string(pack::to_string(*method)));
  }
  return methods;
}

Result<DealtGrouping> deal_by_method(const std::string& name, const ComparisonTask& task,
                                     const Progress& progress) {
  OMNIBAL_ASSIGN(const pack::Method method, pack::parse_method(name == kOurMethod ? "auto" : name));
  pack::GroupingRequest request = task.request;
  request.automatic.predicted_time = step_time_of_packs(kUsualSteps, task.forward);
  DealtGrouping dealt;
  dealt.grouping = pack::group_samples(method, task.samples, task.accepted, request, progress);
  dealt.loads = dealt.grouping.loads(task.samples);
  OMNIBAL_ASSIGN(dealt.table,
                 deal(name, dealt.grouping, dealt.loads, step_options(task, task.steps.dp)));
  return dealt;
}

Result<std::optional<metrics::DistRatios>> imbalance_on(std::int64_t dp, const std::string& name,
                                                        const DealtGrouping& dealt,
                                                        const ComparisonTask& task) {
  if (dealt.grouping.padded) {
    ComparisonTask on_dp = task;
    on_dp.request.micro_batches.dp = dp;
    on_dp.steps.dp = dp;
    OMNIBAL_ASSIGN(const DealtGrouping again, deal_by_method(name, on_dp, {}));
    if (again.table.pack_ids.empty()) return std::optional<metrics::DistRatios>();
    return std::optional(metrics::dist_ratios(again.table.grid(), again.loads, task.forward));
  }
  if (dealt.grouping.packs.size() < dp) return std::optional<metrics::DistRatios>();
  OMNIBAL_ASSIGN(const steps::StepTable table,
                 deal(name, dealt.grouping, dealt.loads, step_options(task, dp)));
  return std::optional(metrics::dist_ratios(table.grid(), dealt.loads, task.forward));
}

MethodFigures judge(const DealtGrouping& dealt, const ComparisonTask& task) {
  const pack::Grouping& grouping = dealt.grouping;
  return {.packs = grouping.packs.size(),
          .pad_ratio = grouping.pad_ratio(task.samples, dealt.loads, 1),
          .dist = metrics::dist_ratios(dealt.table.grid(), dealt.loads, task.forward),
          .fill = fill_of(dealt, task)};
}

Result<cost::LinearCost> forward_of(const std::string& model) {
  OMNIBAL_ASSIGN(const cost::Profile profile, profile_of(model));
  return cost::total_forward(profile);
}

Result<cost::LinearCost> activation_bytes_of(const std::string& model) {
  OMNIBAL_ASSIGN(const cost::Profile profile, profile_of(model));
  return activation_bytes_of(profile);
}

}  // namespace omnibal::plan
