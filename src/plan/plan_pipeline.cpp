// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/plan_pipeline.h"

#include <fmt/format.h>

namespace omnibal::plan {
namespace {

using codec::Json;
using codec::JsonFields;

constexpr std::int64_t kMostDevices = 1 << 24;
constexpr double kFastestLink = 1e15;

const std::string& document_name() {
  static const std::string name(kPlanDocument);
  return name;
}

Result<cluster::Link> read_link(const JsonFields& fields, std::string_view key) {
  OMNIBAL_ASSIGN(const Json* json, fields.object(key));
  const JsonFields link(*json, document_name(), fmt::format("cluster.{}", key));
  OMNIBAL_ASSIGN(const double bytes_per_s, link.number("bytes_per_s", 1, kFastestLink));
  OMNIBAL_ASSIGN(const double latency_s, link.number("latency_s", 0, 1));
  return cluster::Link{bytes_per_s, latency_s};
}

Result<cluster::ClusterSpec> read_cluster(const JsonFields& root) {
  OMNIBAL_ASSIGN(const Json* json, root.object("cluster"));
  const JsonFields fields(*json, document_name(), "cluster");
  cluster::ClusterSpec cluster;
  OMNIBAL_ASSIGN(cluster.name, fields.text("name"));
  OMNIBAL_ASSIGN(cluster.devices_per_node, fields.integer("devices_per_node", 1, kMostDevices));
  OMNIBAL_ASSIGN(cluster.inner, read_link(fields, "inner"));
  OMNIBAL_ASSIGN(cluster.outer, read_link(fields, "outer"));
  return cluster;
}

Result<cluster::ParallelSizes> read_sizes(const JsonFields& root, const steps::StepTable& steps) {
  OMNIBAL_ASSIGN(const Json* json, root.object("parallel"));
  const JsonFields fields(*json, document_name(), "parallel");
  cluster::ParallelSizes sizes;
  OMNIBAL_ASSIGN(sizes.tp, fields.integer("tp", 1, kMostDevices));
  OMNIBAL_ASSIGN(sizes.pp, fields.integer("pp", 1, kMostDevices));
  OMNIBAL_ASSIGN(sizes.dp, fields.integer("dp", steps.dp, steps.dp));
  OMNIBAL_RETURN_IF_ERROR(
      fields.integer("micro_batches", steps.micro_batches, steps.micro_batches));
  return sizes;
}

Result<partition::Cuts> read_cuts(const JsonFields& root, const cluster::ParallelSizes& sizes,
                                  std::int32_t num_layers) {
  OMNIBAL_ASSIGN(const Json* json, root.object("partition"));
  const JsonFields fields(*json, document_name(), "partition");
  OMNIBAL_ASSIGN(const std::vector<std::int64_t> first_layers,
                 fields.integers("cuts", 1, num_layers - 1));
  const partition::Cuts cuts =
      partition::cuts_at(std::vector<std::int32_t>(first_layers.begin(), first_layers.end()));
  OMNIBAL_RETURN_IF_ERROR(partition::check_cuts(cuts, num_layers));
  if (static_cast<std::int64_t>(cuts.size()) + 1 == sizes.pp) return cuts;
  return Error(ErrorCode::kInvalidPlan, "there are not pp - 1 cuts")
      .in_file(document_name())
      .at_key("partition.cuts")
      .with_value(static_cast<std::int64_t>(cuts.size()))
      .with_limit(sizes.pp - 1);
}

Result<recompute::RecomputeMask> read_recompute(const JsonFields& root, std::int32_t num_layers) {
  OMNIBAL_ASSIGN(const std::vector<std::int64_t> layers,
                 root.integers("recompute", 0, num_layers - 1));
  recompute::RecomputeMask mask(static_cast<std::size_t>(num_layers), false);
  std::int64_t last = -1;
  for (const std::int64_t layer : layers) {
    if (layer <= last) {
      return Error(ErrorCode::kInvalidPlan, "recomputed layers do not rise")
          .in_file(document_name())
          .at_key("recompute")
          .with_value(layer);
    }
    last = layer;
    mask[static_cast<std::size_t>(layer)] = true;
  }
  return mask;
}

Result<schedule::Schedule> read_schedule(const JsonFields& root,
                                         const cluster::ParallelSizes& sizes,
                                         std::int64_t micro_batches) {
  OMNIBAL_ASSIGN(const Json* json, root.object("schedule"));
  OMNIBAL_ASSIGN(const std::string name,
                 JsonFields(*json, document_name(), "schedule").text("kind"));
  OMNIBAL_ASSIGN(const schedule::ScheduleKind kind, schedule::parse_schedule_kind(name));
  return schedule::make_schedule(kind, static_cast<std::int32_t>(sizes.pp),
                                 static_cast<std::int32_t>(micro_batches));
}

}  // namespace

Result<PlanPipeline> read_pipeline(const PlanReader& plan) {
  if (plan.profile() == nullptr || plan.steps() == nullptr) {
    return Error(ErrorCode::kInvalidPlan, "the plan has no model part: packs and steps only")
        .in_file(document_name())
        .with_hint("make a whole plan with `omnibal plan`");
  }
  const auto num_layers = static_cast<std::int32_t>(plan.profile()->layers.size());
  const JsonFields root(plan.document(), document_name());
  PlanPipeline pipeline;
  OMNIBAL_ASSIGN(pipeline.sizes, read_sizes(root, *plan.steps()));
  OMNIBAL_ASSIGN(pipeline.cluster, read_cluster(root));
  OMNIBAL_ASSIGN(pipeline.cuts, read_cuts(root, pipeline.sizes, num_layers));
  OMNIBAL_ASSIGN(pipeline.recompute, read_recompute(root, num_layers));
  OMNIBAL_ASSIGN(pipeline.schedule,
                 read_schedule(root, pipeline.sizes, plan.steps()->micro_batches));
  OMNIBAL_ASSIGN(pipeline.steps.schedule, simulate::compile(pipeline.schedule));
  pipeline.steps.stages = simulate::stage_costs(*plan.profile(), pipeline.cuts, pipeline.recompute);
  OMNIBAL_ASSIGN(const std::string links, root.text("links"));
  if (links != "free") pipeline.steps.links = links_of_ranks(pipeline.cluster, pipeline.sizes);
  return pipeline;
}

}  // namespace omnibal::plan
