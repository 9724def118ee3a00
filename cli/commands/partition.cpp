// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "cli/command.h"
#include "cli/options/model_flags.h"
#include "cli/text_table.h"
#include "omnibal/base/quantity.h"
#include "omnibal/plan/model_balance.h"
#include "omnibal/simulate/stage_times.h"

namespace omnibal::cli {
namespace {

struct PartitionFlags {
  std::string profile;
  std::optional<std::int64_t> pp;  // required, as the next
  std::optional<std::int64_t> micro_batches;
  std::string method = "bmp";
  std::optional<std::string> recompute;
  std::optional<ByteSize> memory;
  std::string schedule = "1f1b";
  std::optional<std::string> cluster;
  std::int64_t radius = 1;
  std::int64_t candidates = 27;
};

Result<plan::ModelBalanceRequest> to_request(const PartitionFlags& flags, int threads) {
  const std::string recompute = flags.recompute.value_or(flags.memory ? "bar" : "none");
  plan::ModelBalanceRequest request;
  request.num_stages = static_cast<std::int32_t>(*flags.pp);
  request.num_micro_batches = static_cast<std::int32_t>(*flags.micro_batches);
  OMNIBAL_ASSIGN(request.schedule, schedule::parse_schedule_kind(flags.schedule));
  OMNIBAL_ASSIGN(request.method, plan::parse_partition_method(flags.method));
  OMNIBAL_ASSIGN(request.recompute, plan::parse_recompute_method(recompute));
  if (flags.memory) request.memory_bytes = flags.memory->bytes;
  if (flags.cluster) {
    OMNIBAL_ASSIGN(const cluster::ClusterSpec cluster, cluster::load_cluster(*flags.cluster));
    request.links = simulate::boundary_links(cluster, {.pp = *flags.pp});
  }
  request.bmp = {.radius = static_cast<std::int32_t>(flags.radius),
                 .candidates = static_cast<std::int32_t>(flags.candidates),
                 .threads = threads};
  return request;
}

std::string ms(double seconds) { return fmt::format("{:.2f}", seconds * 1e3); }

std::string stage_table(const plan::ModelBalance& balance) {
  std::vector<std::vector<std::string>> rows{{"stage", "layers", "forward ms", "backward ms",
                                              "recompute ms", "recomputed", "in flight", "static",
                                              "peak"}};
  for (const metrics::StageSummary& stage : balance.stages) {
    const auto first = balance.best.recompute.begin() + stage.first_layer;
    rows.push_back(
        {fmt::format("{}", rows.size() - 1),
         fmt::format("{}-{}", stage.first_layer, stage.first_layer + stage.num_layers - 1),
         ms(stage.forward_s), ms(stage.backward_s), ms(stage.recompute_s),
         fmt::format("{} of {}", std::count(first, first + stage.num_layers, true),
                     stage.num_layers),
         fmt::format("{}", stage.in_flight), format_bytes(stage.static_bytes),
         format_bytes(stage.peak_bytes)});
  }
  return text_table(rows);
}

std::string to_text(const plan::ModelBalance& balance, const PartitionFlags& flags) {
  const metrics::PartitionMetrics& m = balance.metrics;
  return stage_table(balance) +
         fmt::format(
             "\n{}: step of {} micro-batches takes {} by {}; {} other candidates simulated\n"
             "slowest stage {} ms (with as much recomputation no cuts are below {} ms), forward "
             "alone {} ms\n"
             "variance of the stages' forward time {:.3f} ms^2; {} cross the cuts a micro-batch\n",
             flags.method, *flags.micro_batches, format_seconds(balance.best.makespan_s),
             flags.schedule, balance.alternatives.size(), ms(m.bottleneck_s), ms(m.lower_bound_s),
             ms(m.bottleneck_forward_s), m.var_forward_ms2, format_bytes(m.sum_comm_bytes));
}

Result<Output> run_partition(const PartitionFlags& flags, const Context& context) {
  OMNIBAL_ASSIGN(const plan::ModelBalanceRequest request, to_request(flags, context.threads));
  OMNIBAL_ASSIGN(const cost::Profile profile, cost::read_profile(flags.profile));
  const auto began = std::chrono::steady_clock::now();
  OMNIBAL_ASSIGN(const plan::ModelBalance balance, plan::balance_model(profile, request));
  const std::chrono::duration<double> solving = std::chrono::steady_clock::now() - began;
  codec::Json json = {{"method", flags.method}};
  json.update(plan::to_json(balance));
  json["solve_seconds"] = solving.count();
  return Output{std::move(json), to_text(balance, flags)};
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
       .help = "Pipeline stages",
       .value_name = "N",
       .min = 1,
       .max = kMostDevices,
       .required = true},
      micro_batches_flag(&flags.micro_batches),
      memory_flag(&flags.memory, "there is no limit"),
      schedule_flag(&flags.schedule, "Pipeline schedule"),
      cluster_flag(&flags.cluster,
                   "Cluster whose links carry the boundaries, a device a stage; without, transfers "
                   "take no time")};
  table[2].required = true;
  return table;
}

/// How it is chosen.
std::vector<Flag> method_flags(PartitionFlags& flags) {
  return {{.name = "--method",
           .target = &flags.method,
           .help = "How cuts are chosen",
           .choices = plan::partition_methods()},
          {.name = "--recompute",
           .target = &flags.recompute,
           .help = "Which layers recompute; bar if --memory is given, else none",
           .choices = plan::recompute_methods()},
          {.name = "--radius",
           .target = &flags.radius,
           .help = "bmp: layers by which every cut may move from the anchor",
           .value_name = "N",
           .min = 0,
           .max = 1 << 20},
          {.name = "--candidates",
           .target = &flags.candidates,
           .help = "bmp: how many of the ranked neighbours are simulated",
           .value_name = "N",
           .min = 1,
           .max = 1 << 20}};
}

}  // namespace

Command make_partition_command() {
  auto flags = std::make_shared<PartitionFlags>();
  return {
      .name = "partition",
      .summary = "Cut a profile's layers into pipeline stages and choose what recomputes",
      .description =
          "Cuts the layers of a profile into pipeline stages and chooses which layers recompute "
          "their activations, at the profile's reference load. bmp searches around the anchor, "
          "ranks by variance of forward time, then by the bytes that cross the cuts, and simulates "
          "the first candidates; min-max and least-variance are exact optima of forward time, "
          "even-parameters of the parameter counts; vision-first puts everything before the LLM on "
          "stage 0. bar recomputes per stage the least time that fits --memory.",
      .example =
          "omnibal partition profile.json --pp 8 --micro-batches 32 --memory 70GB\n"
          "omnibal partition profile.json --pp 4 --micro-batches 16 --method min-max --json",
      .flags = joined({pipeline_flags(*flags), method_flags(*flags)}),
      .run = [flags](const Context& context) { return run_partition(*flags, context); }};
}

}  // namespace omnibal::cli
