// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/plan_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "omnibal/cost/recompute_choices.h"

namespace omnibal::plan {
namespace {

using codec::Json;
using codec::JsonFields;

constexpr std::int64_t kMostDevices = 1 << 24;
constexpr std::int64_t kMostChunks = 1 << 16;
constexpr double kFastestLink = 1e15;
constexpr double kFastestMemory = 1e18;

Result<cluster::Link> read_link(const JsonFields& fields, std::string_view key) {
  OMNIBAL_ASSIGN(const Json* json, fields.object(key));
  const JsonFields link(*json, plan_document_name(), fmt::format("cluster.{}", key));
  OMNIBAL_ASSIGN(const double bytes_per_s, link.number("bytes_per_s", 1, kFastestLink));
  OMNIBAL_ASSIGN(const double latency_s, link.number("latency_s", 0, 1));
  return cluster::Link{bytes_per_s, latency_s};
}

Result<cluster::ClusterSpec> read_cluster(const JsonFields& root) {
  OMNIBAL_ASSIGN(const Json* json, root.object("cluster"));
  const JsonFields fields(*json, plan_document_name(), "cluster");
  cluster::ClusterSpec cluster;
  OMNIBAL_ASSIGN(cluster.name, fields.text("name"));
  OMNIBAL_ASSIGN(cluster.devices_per_node, fields.integer("devices_per_node", 1, kMostDevices));
  OMNIBAL_ASSIGN(cluster.memory_bytes_per_s,
                 fields.number_or("memory_bytes_per_s", 0, 0, kFastestMemory));
  OMNIBAL_ASSIGN(cluster.inner, read_link(fields, "inner"));
  OMNIBAL_ASSIGN(cluster.outer, read_link(fields, "outer"));
  return cluster;
}

Result<cluster::ParallelSizes> read_sizes(const JsonFields& root, const steps::StepTable& steps) {
  OMNIBAL_ASSIGN(const Json* json, root.object("parallel"));
  const JsonFields fields(*json, plan_document_name(), "parallel");
  cluster::ParallelSizes sizes;
  OMNIBAL_ASSIGN(sizes.tp, fields.integer("tp", 1, kMostDevices));
  OMNIBAL_ASSIGN(sizes.pp, fields.integer("pp", 1, kMostDevices));
  OMNIBAL_ASSIGN(sizes.dp, fields.integer("dp", steps.dp, steps.dp));
  OMNIBAL_RETURN_IF_ERROR(
      fields.integer("micro_batches", steps.micro_batches, steps.micro_batches));
  if (sizes.tp <= kMostDevices / sizes.pp / sizes.dp) return sizes;
  return Error(ErrorCode::kInvalidPlan, "tp x pp x dp are more devices than a cluster may have")
      .in_file(plan_document_name())
      .at_key("parallel")
      .with_limit(kMostDevices);
}

Result<partition::Cuts> read_cuts(const JsonFields& fields, std::int64_t num_stages,
                                  std::int32_t num_layers) {
  OMNIBAL_ASSIGN(const std::vector<std::int64_t> first_layers,
                 fields.integers("cuts", 1, num_layers - 1));
  const partition::Cuts cuts =
      partition::cuts_at(std::vector<std::int32_t>(first_layers.begin(), first_layers.end()));
  OMNIBAL_RETURN_IF_ERROR(partition::check_cuts(cuts, num_layers));
  if (static_cast<std::int64_t>(cuts.size()) + 1 == num_stages) return cuts;
  return Error(ErrorCode::kInvalidPlan, fmt::format("there are {} cuts, {} stages have {}",
                                                    cuts.size(), num_stages, num_stages - 1))
      .in_file(plan_document_name())
      .at_key("cuts")
      .with_value(static_cast<std::int64_t>(cuts.size()))
      .with_limit(num_stages - 1);
}

Result<recompute::RecomputeMask> read_recompute(const JsonFields& root, std::int32_t num_layers) {
  OMNIBAL_ASSIGN(const std::vector<std::int64_t> layers,
                 root.integers("recompute", 0, num_layers - 1));
  recompute::RecomputeMask mask(static_cast<std::size_t>(num_layers), false);
  std::int64_t last = -1;
  for (const std::int64_t layer : layers) {
    if (layer <= last) {
      return Error(ErrorCode::kInvalidPlan, "recomputed layers do not rise")
          .in_file(plan_document_name())
          .at_key("recompute")
          .with_value(layer);
    }
    last = layer;
    mask[static_cast<std::size_t>(layer)] = true;
  }
  return mask;
}

/// {"12": "mlp"}: layers that take a named choice.
Result<std::vector<cost::NamedChoice>> read_named_choices(const JsonFields& root,
                                                          std::int32_t num_layers) {
  std::vector<cost::NamedChoice> named;
  if (!root.has("recompute_choice")) return named;
  OMNIBAL_ASSIGN(const Json* json, root.object("recompute_choice"));
  const JsonFields fields(*json, plan_document_name(), "recompute_choice");
  for (const auto& [key, value] : json->items()) {
    std::int64_t layer = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), layer);
    if (error != std::errc() || end != key.data() + key.size() || layer < 0 ||
        layer >= num_layers) {
      return Error(ErrorCode::kInvalidPlan, fmt::format("there is no layer \"{}\"", key))
          .in_file(plan_document_name())
          .at_key("recompute_choice")
          .with_value(key)
          .with_limit(std::int64_t{num_layers} - 1);
    }
    OMNIBAL_ASSIGN(std::string name, fields.text(key));
    named.push_back({layer, std::move(name)});
  }
  return named;
}

Result<cost::LayerChoices> read_choices(const JsonFields& root, const cost::Profile& profile) {
  const auto num_layers = static_cast<std::int32_t>(profile.layers.size());
  OMNIBAL_ASSIGN(const recompute::RecomputeMask whole, read_recompute(root, num_layers));
  OMNIBAL_ASSIGN(const std::vector<cost::NamedChoice> named, read_named_choices(root, num_layers));
  Result<cost::LayerChoices> choices = cost::choices_of(profile, whole, named);
  if (choices) return choices;
  Error error = std::move(choices).error();
  error.code = ErrorCode::kInvalidPlan;
  return std::move(error).in_file(plan_document_name());
}

/// Every id is a pack or a zero-weight pack: whoever simulates takes loads by id.
Status check_ids(const PlanReader& plan) {
  const auto num_packs = static_cast<std::int64_t>(plan.pack_loads().size());
  const std::vector<std::int64_t>& ids = plan.steps()->pack_ids;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == steps::kZeroWeightPack || (ids[i] >= 0 && ids[i] < num_packs)) continue;
    return Error(ErrorCode::kInvalidPlan,
                 fmt::format("entry {} is pack {}, there are {} packs", i, ids[i], num_packs))
        .in_file("steps.npy")
        .at_row(static_cast<std::int64_t>(i))
        .with_value(ids[i])
        .with_limit(num_packs - 1);
  }
  return {};
}

/// Loads that costs may be evaluated at.
Status check_loads(std::span<const metrics::PackLoad> loads) {
  for (std::size_t p = 0; p < loads.size(); ++p) {
    const cost::Load load = metrics::to_load(loads[p]);
    if (!cost::is_allowed(load)) {
      return Error(ErrorCode::kInvalidPlan,
                   fmt::format("pack {} has {} vision units, {} tokens, {} token pairs: negative "
                               "or too many",
                               p, loads[p].vision_units, loads[p].tokens, loads[p].token_pairs))
          .in_file("pack_load.npy")
          .at_row(static_cast<std::int64_t>(p));
    }
  }
  return {};
}

/// What the arrays must hold before anything is simulated.
Status check_arrays(const PlanReader& plan) {
  OMNIBAL_RETURN_IF_ERROR(check_ids(plan));
  OMNIBAL_RETURN_IF_ERROR(check_loads(plan.pack_loads()));
  Status bytes = cost::check_bytes(*plan.profile(), metrics::largest_load(plan.pack_loads()),
                                   plan.steps()->micro_batches);
  if (!bytes.ok()) return std::move(bytes).error().in_file("profile.json");
  return {};
}

/// Whether transfers between stages take time.
Result<bool> read_links_cost(const JsonFields& root) {
  OMNIBAL_ASSIGN(const std::string links, root.text("links"));
  if (links == "model" || links == "free") return links == "model";
  return Error(ErrorCode::kInvalidPlan, "links are neither model nor free")
      .in_file(plan_document_name())
      .at_key("links")
      .with_value(links);
}

/// A key of the plan's, not an argument of the user's.
Error in_this_plan(Error error, const char* key) {
  error.code = ErrorCode::kInvalidPlan;
  return std::move(error).in_file(plan_document_name()).at_key(key);
}

/// How a step of the prediction ends.
Status read_update(const JsonFields& root, const cost::Profile& profile, PlanPipeline& pipeline) {
  OMNIBAL_ASSIGN(const std::string name, root.text("update"));
  const Result<simulate::Reduction> update = simulate::parse_reduction(name);
  if (!update) return in_this_plan(update.error(), "update");
  pipeline.update = *update;
  Result<simulate::StepEnd> end = simulate::step_end(
      {profile, pipeline.cuts, pipeline.schedule, pipeline.cluster, pipeline.sizes}, *update);
  if (!end) return in_this_plan(std::move(end).error(), "update");
  pipeline.steps.end = *std::move(end);
  return {};
}

/// Which schedule, before it is known to be one that this many stages can run.
struct ScheduleChoice {
  schedule::ScheduleKind kind = schedule::ScheduleKind::kOneFOneB;
  std::int64_t chunks = 1;
};

Result<ScheduleChoice> read_schedule_choice(const JsonFields& root) {
  OMNIBAL_ASSIGN(const Json* json, root.object("schedule"));
  const JsonFields fields(*json, plan_document_name(), "schedule");
  OMNIBAL_ASSIGN(const std::string name, fields.text("kind"));
  OMNIBAL_ASSIGN(const std::int64_t chunks, fields.integer("chunks", 1, kMostChunks));
  Result<schedule::ScheduleKind> kind = schedule::parse_schedule_kind(name);
  if (!kind) return in_this_plan(std::move(kind).error(), "schedule.kind");
  return ScheduleChoice{*kind, chunks};
}

Result<schedule::Schedule> make_schedule(const ScheduleChoice& choice, std::size_t num_stages,
                                         std::int64_t micro_batches) {
  Result<schedule::Schedule> schedule = schedule::make_schedule(
      choice.kind, static_cast<std::int32_t>(num_stages), static_cast<std::int32_t>(micro_batches),
      {.chunks = static_cast<std::int32_t>(choice.chunks)});
  if (!schedule) return in_this_plan(std::move(schedule).error(), "schedule.kind");
  return schedule;
}

}  // namespace

Result<CutsAndChoices> read_cuts_and_choices(const JsonFields& fields, const cost::Profile& profile,
                                             std::int64_t num_stages) {
  CutsAndChoices read;
  OMNIBAL_ASSIGN(read.cuts,
                 read_cuts(fields, num_stages, static_cast<std::int32_t>(profile.layers.size())));
  OMNIBAL_ASSIGN(read.choices, read_choices(fields, profile));
  return read;
}

Result<PlanPipeline> read_pipeline(const PlanReader& plan) {
  if (plan.profile() == nullptr || plan.steps() == nullptr) {
    return Error(ErrorCode::kInvalidPlan, "the plan has no model part: packs and steps only")
        .in_file(plan_document_name())
        .with_hint("make a whole plan with `omnibal plan`");
  }
  const auto num_layers = static_cast<std::int32_t>(plan.profile()->layers.size());
  const JsonFields root(plan.document(), plan_document_name());
  PlanPipeline pipeline;
  OMNIBAL_ASSIGN(pipeline.sizes, read_sizes(root, *plan.steps()));
  OMNIBAL_RETURN_IF_ERROR(check_arrays(plan));
  OMNIBAL_ASSIGN(pipeline.cluster, read_cluster(root));
  OMNIBAL_ASSIGN(const ScheduleChoice schedule, read_schedule_choice(root));
  OMNIBAL_ASSIGN(const Json* partition, root.object("partition"));
  OMNIBAL_ASSIGN(pipeline.cuts, read_cuts(JsonFields(*partition, plan_document_name(), "partition"),
                                          pipeline.sizes.pp * schedule.chunks, num_layers));
  OMNIBAL_ASSIGN(pipeline.choices, read_choices(root, *plan.profile()));
  pipeline.recompute = cost::spares_memory(pipeline.choices);
  pipeline.named = cost::named_choices(*plan.profile(), pipeline.choices);
  pipeline.profile = cost::with_choices(*plan.profile(), pipeline.choices);
  OMNIBAL_ASSIGN(pipeline.schedule,
                 make_schedule(schedule, pipeline.cuts.size() + 1, plan.steps()->micro_batches));
  OMNIBAL_ASSIGN(pipeline.steps.schedule, simulate::compile(pipeline.schedule));
  pipeline.steps.stages =
      simulate::stage_costs(pipeline.profile, pipeline.cuts, pipeline.recompute);
  OMNIBAL_ASSIGN(const bool links_cost, read_links_cost(root));
  if (links_cost)
    pipeline.steps.links = links_of_ranks(pipeline.cluster, pipeline.sizes, pipeline.schedule);
  OMNIBAL_RETURN_IF_ERROR(read_update(root, *plan.profile(), pipeline));
  return pipeline;
}

}  // namespace omnibal::plan
