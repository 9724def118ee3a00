// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "cli/command.h"
#include "cli/options/model_flags.h"
#include "cli/partition_text.h"
#include "omnibal/base/quantity.h"
#include "omnibal/plan/model_balance.h"
#include "omnibal/simulate/stage_times.h"

namespace omnibal::cli {
namespace {

struct PartitionFlags {
  std::string profile;
  std::optional<std::int64_t> pp;  // required, as the next
  std::optional<std::int64_t> micro_batches;
  std::string method = "joint";
  std::optional<std::string> recompute;
  std::string recompute_choices = "full";
  std::optional<ByteSize> memory;
  std::string schedule = "1f1b";
  std::optional<std::int64_t> chunks;
  std::optional<std::string> cluster;
  std::int64_t radius = 1;
  std::int64_t candidates = 27;
  std::vector<std::string> keep_together;
  std::vector<std::string> forbid_cut;
  std::optional<std::string> restrict;
};

Result<LayerIndex> layer_of(const cost::Profile& profile, const std::string& text,
                            const char* flag) {
  Result<LayerIndex> layer = plan::find_layer(profile, text);
  if (!layer) return std::move(layer).error().at_key(flag);
  return layer;
}

/// Layers that are named in pairs: A,B or A,B,C,D.
Status read_constraints(const PartitionFlags& flags, const cost::Profile& profile,
                        joint::Constraints& constraints) {
  if (flags.keep_together.size() % 2 != 0) {
    return Error(ErrorCode::kInvalidArgument, "--keep-together takes pairs of layers")
        .at_key("--keep-together")
        .with_value(static_cast<std::int64_t>(flags.keep_together.size()))
        .with_hint("give A,B or A,B,C,D: A and B on one stage, C and D on one stage");
  }
  for (std::size_t i = 0; i < flags.keep_together.size(); i += 2) {
    OMNIBAL_ASSIGN(const LayerIndex one,
                   layer_of(profile, flags.keep_together[i], "--keep-together"));
    OMNIBAL_ASSIGN(const LayerIndex other,
                   layer_of(profile, flags.keep_together[i + 1], "--keep-together"));
    constraints.keep_together.emplace_back(one, other);
  }
  for (const std::string& text : flags.forbid_cut) {
    OMNIBAL_ASSIGN(const LayerIndex layer, layer_of(profile, text, "--forbid-cut"));
    constraints.forbidden_cuts.push_back(layer);
  }
  if (flags.restrict) {
    OMNIBAL_ASSIGN(constraints.restriction, plan::parse_restriction(*flags.restrict));
  }
  return {};
}

bool is_constrained(const PartitionFlags& flags) {
  return !flags.keep_together.empty() || !flags.forbid_cut.empty() || flags.restrict;
}

std::string default_recompute(const PartitionFlags& flags) {
  if (flags.method == "joint") return "joint";
  return flags.memory ? "bar" : "none";
}

Result<plan::ModelBalanceRequest> to_request(const PartitionFlags& flags,
                                             const cost::Profile& profile,
                                             const std::optional<cluster::ClusterSpec>& cluster,
                                             int threads) {
  plan::ModelBalanceRequest request;
  OMNIBAL_ASSIGN(request.schedule, schedule::parse_schedule_kind(flags.schedule));
  request.chunks = chunks_of(flags.chunks, request.schedule);
  request.num_stages = static_cast<std::int32_t>(*flags.pp) * request.chunks;
  request.num_micro_batches = static_cast<std::int32_t>(*flags.micro_batches);
  OMNIBAL_ASSIGN(request.method, plan::parse_partition_method(flags.method));
  OMNIBAL_ASSIGN(request.recompute,
                 plan::parse_recompute_method(flags.recompute.value_or(default_recompute(flags))));
  if (is_constrained(flags) && request.method != plan::PartitionMethod::kJoint) {
    return Error(ErrorCode::kInvalidArgument, "only --method joint keeps constraints")
        .at_key("--method")
        .with_value(flags.method)
        .with_hint("use --method joint, or drop --keep-together, --forbid-cut and --restrict");
  }
  OMNIBAL_RETURN_IF_ERROR(read_constraints(flags, profile, request.constraints));
  OMNIBAL_ASSIGN(request.choices, cost::parse_choice_set(flags.recompute_choices));
  if (flags.memory) request.memory_bytes = flags.memory->bytes;
  if (cluster) {
    request.host_share_bytes = cluster->host_share_bytes();
    OMNIBAL_ASSIGN(const schedule::Schedule lists,  // for the ranks of the stages
                   schedule::make_schedule(request.schedule, request.num_stages, 1,
                                           {.chunks = request.chunks}));
    request.links = simulate::boundary_links(*cluster, {.pp = *flags.pp}, 0, lists);
  }
  request.bmp = {.radius = static_cast<std::int32_t>(flags.radius),
                 .candidates = static_cast<std::int32_t>(flags.candidates),
                 .threads = threads};
  return request;
}

/// Without --memory nothing is refused: then a cluster's devices may be too small.
void warn_of_memory(const PartitionFlags& flags, const plan::ModelBalance& balance,
                    const cluster::ClusterSpec& cluster, const Context& context) {
  const auto fullest =
      std::ranges::max_element(balance.ranks, {}, &metrics::RankSummary::peak_bytes);
  if (fullest->peak_bytes <= cluster.usable_bytes()) return;
  context.warn(fmt::format(
      "rank {} needs {}, a device of {} has {}{}", fullest - balance.ranks.begin(),
      format_bytes(fullest->peak_bytes), cluster.name, format_bytes(cluster.usable_bytes()),
      flags.memory ? "" : fmt::format(": --memory {} makes it fit", cluster.usable_bytes())));
}

Result<Output> run_partition(const PartitionFlags& flags, const Context& context) {
  OMNIBAL_ASSIGN(const cost::Profile profile, cost::read_profile(flags.profile));
  std::optional<cluster::ClusterSpec> cluster;
  if (flags.cluster) {
    OMNIBAL_ASSIGN(cluster, cluster::load_cluster(*flags.cluster));
  }
  OMNIBAL_ASSIGN(const plan::ModelBalanceRequest request,
                 to_request(flags, profile, cluster, context.threads));
  const auto began = std::chrono::steady_clock::now();
  OMNIBAL_ASSIGN(const plan::ModelBalance balance, plan::balance_model(profile, request));
  const std::chrono::duration<double> solving = std::chrono::steady_clock::now() - began;
  if (cluster) warn_of_memory(flags, balance, *cluster, context);
  codec::Json json = {{"method", flags.method},
                      {"schedule", {{"kind", flags.schedule}, {"chunks", request.chunks}}}};
  json.update(plan::to_json(balance));
  json["solve_seconds"] = solving.count();
  return Output{std::move(json),
                to_text(balance, {flags.method, flags.schedule, *flags.micro_batches})};
}

/// What runs where: sizes, memory, links.
std::vector<Flag> pipeline_flags(PartitionFlags& flags) {
  std::vector<Flag> table = {
      {.name = "PROFILE",
       .target = &flags.profile,
       .help = "Profile of the layers: from `omnibal profile`, measured, or your own",
       .required = true},
      {.name = "--pp",
       .target = &flags.pp,
       .help = "Ranks of the pipeline; each runs a stage, or --chunks of them",
       .value_name = "N",
       .min = 1,
       .max = kMostDevices,
       .required = true},
      micro_batches_flag(&flags.micro_batches),
      memory_flag(&flags.memory, "there is no limit"),
      schedule_flag(&flags.schedule, "Pipeline schedule"),
      chunks_flag(&flags.chunks),
      cluster_flag(&flags.cluster,
                   "Cluster whose links carry the boundaries, a device a rank; without, transfers "
                   "take no time")};
  table[2].required = true;
  return table;
}

/// How it is chosen.
std::vector<Flag> method_flags(PartitionFlags& flags) {
  return {
      {.name = "--method",
       .target = &flags.method,
       .help = "How cuts are chosen",
       .choices = plan::partition_methods()},
      {.name = "--recompute",
       .target = &flags.recompute,
       .help = "Which layers recompute; joint with method joint, else bar if --memory is given, "
               "else none",
       .choices = plan::recompute_methods()},
      recompute_choices_flag(&flags.recompute_choices),
      {.name = "--radius",
       .target = &flags.radius,
       .help = "bmp: layers by which every cut may move from the anchor; joint starts there too",
       .value_name = "N",
       .min = 0,
       .max = 1 << 20},
      {.name = "--candidates",
       .target = &flags.candidates,
       .help = "bmp: how many of the ranked neighbours are simulated; joint: most plans shown",
       .value_name = "N",
       .min = 1,
       .max = 1 << 20}};
}

/// What joint must keep.
std::vector<Flag> constraint_flags(PartitionFlags& flags) {
  return {{.name = "--keep-together",
           .target = &flags.keep_together,
           .help = "joint: pairs of layers, by name or index, that share a stage",
           .value_name = "A,B,..."},
          {.name = "--forbid-cut",
           .target = &flags.forbid_cut,
           .help = "joint: layers, by name or index, at which no stage begins",
           .value_name = "N,..."},
          {.name = "--restrict",
           .target = &flags.restrict,
           .help = "joint: only what a target can express, and what that costs. megatron: "
                   "everything before the LLM on stage 0, the first N blocks of every stage "
                   "recompute; uniform: equal layer counts, or one more on the first stages",
           .choices = plan::restrictions()}};
}

}  // namespace

Command make_partition_command() {
  auto flags = std::make_shared<PartitionFlags>();
  return {
      .name = "partition",
      .summary = "Cut a profile's layers into pipeline stages and choose what recomputes",
      .description =
          "Cuts the layers of a profile into pipeline stages and chooses which layers recompute "
          "their activations, at the profile's reference load. joint chooses both at once: the "
          "least slowest stage by an exact program, the fastest of the best plans by simulation, "
          "with a certificate (docs/methods/joint.md). bmp searches around the anchor, "
          "ranks by variance of forward time, then by the bytes that cross the cuts, and simulates "
          "the first candidates; min-max and least-variance are exact optima of forward time, "
          "even-parameters of the parameter counts; vision-first puts everything before the LLM on "
          "stage 0. Recomputation for given cuts: joint is the least time that fits --memory, bar "
          "the paper's.",
      .example =
          "omnibal partition profile.json --pp 8 --micro-batches 32 --memory 70GB\n"
          "omnibal partition profile.json --pp 8 --micro-batches 32 --memory 70GB --restrict "
          "megatron\n"
          "omnibal partition profile.json --pp 4 --micro-batches 16 --method min-max --json\n"
          "omnibal partition profile.json --pp 4 --micro-batches 32 --schedule zb-v --memory 70GB",
      .flags = joined({pipeline_flags(*flags), method_flags(*flags), constraint_flags(*flags)}),
      .run = [flags](const Context& context) { return run_partition(*flags, context); }};
}

}  // namespace omnibal::cli
