// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "cli/command.h"
#include "cli/options/model_flags.h"
#include "cli/recompute_text.h"
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
  std::string method = "joint";
  std::optional<std::string> recompute;
  std::string recompute_choices = "full";
  std::optional<ByteSize> memory;
  std::string schedule = "1f1b";
  std::optional<std::string> cluster;
  std::int64_t radius = 1;
  std::int64_t candidates = 27;
  std::vector<std::string> keep_together;
  std::vector<std::string> forbid_cut;
  std::optional<std::string> restrict;
};

/// Layers that are named in pairs: A,B or A,B,C,D.
Status read_constraints(const PartitionFlags& flags, const cost::Profile& profile,
                        joint::Constraints& constraints) {
  if (flags.keep_together.size() % 2 != 0) {
    return Error(ErrorCode::kInvalidArgument, "--keep-together takes pairs of layers")
        .at_key("keep-together")
        .with_value(static_cast<std::int64_t>(flags.keep_together.size()))
        .with_hint("give A,B or A,B,C,D: A and B on one stage, C and D on one stage");
  }
  for (std::size_t i = 0; i < flags.keep_together.size(); i += 2) {
    OMNIBAL_ASSIGN(const LayerIndex one, plan::find_layer(profile, flags.keep_together[i]));
    OMNIBAL_ASSIGN(const LayerIndex other, plan::find_layer(profile, flags.keep_together[i + 1]));
    constraints.keep_together.emplace_back(one, other);
  }
  for (const std::string& text : flags.forbid_cut) {
    OMNIBAL_ASSIGN(const LayerIndex layer, plan::find_layer(profile, text));
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
                                             const cost::Profile& profile, int threads) {
  plan::ModelBalanceRequest request;
  request.num_stages = static_cast<std::int32_t>(*flags.pp);
  request.num_micro_batches = static_cast<std::int32_t>(*flags.micro_batches);
  OMNIBAL_ASSIGN(request.schedule, schedule::parse_schedule_kind(flags.schedule));
  OMNIBAL_ASSIGN(request.method, plan::parse_partition_method(flags.method));
  OMNIBAL_ASSIGN(request.recompute,
                 plan::parse_recompute_method(flags.recompute.value_or(default_recompute(flags))));
  if (is_constrained(flags) && request.method != plan::PartitionMethod::kJoint) {
    return Error(ErrorCode::kInvalidArgument, "only --method joint keeps constraints")
        .at_key("method")
        .with_value(flags.method)
        .with_hint("use --method joint, or drop --keep-together, --forbid-cut and --restrict");
  }
  OMNIBAL_RETURN_IF_ERROR(read_constraints(flags, profile, request.constraints));
  OMNIBAL_ASSIGN(request.choices, cost::parse_choice_set(flags.recompute_choices));
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
    rows.push_back(
        {fmt::format("{}", rows.size() - 1),
         fmt::format("{}-{}", stage.first_layer, stage.first_layer + stage.num_layers - 1),
         ms(stage.forward_s), ms(stage.backward_s), ms(stage.recompute_s),
         recomputed_text(stage, balance.best.choices, balance.best.named),
         fmt::format("{}", stage.in_flight), format_bytes(stage.static_bytes),
         format_bytes(stage.peak_bytes)});
  }
  return text_table(rows);
}

/// What a step, or a stage, becomes if a cut moves.
std::string move_text(const joint::CutMove& move, double makespan_s) {
  if (!move.allowed) return "-";
  if (!move.fits) return fmt::format("does not fit: {}", format_bytes(move.peak_bytes));
  return fmt::format("{:+.2f}", (move.makespan_s - makespan_s) * 1e3);
}

std::string certificate_text(const plan::ModelBalance& balance) {
  const joint::Certificate& certificate = *balance.certificate;
  const double gap = balance.metrics.bottleneck_s / certificate.lower_bound_s - 1;
  std::string text = fmt::format(
      "slowest stage {} ms; {} ms is {} ({:.2f} % above)\n"
      "step: no plan takes less than {} if micro-batches are alike and links free ({:.2f} % "
      "above)\n",
      ms(balance.metrics.bottleneck_s), ms(certificate.lower_bound_s),
      certificate.proven ? "proven to be the least" : "a proven bound", std::max(0.0, gap) * 100,
      format_seconds(certificate.makespan_bound_s),
      std::max(0.0, balance.best.makespan_s / certificate.makespan_bound_s - 1) * 100);
  if (balance.cost_of_restriction) {
    text += fmt::format("the restriction costs {:.2f} % of the step\n",
                        *balance.cost_of_restriction * 100);
  }
  if (certificate.cuts.empty()) return text;
  std::vector<std::vector<std::string>> rows{
      {"cut", "a layer earlier: step ms", "slowest ms", "a layer later: step ms", "slowest ms"}};
  const auto slowest = [](const joint::CutMove& move) {
    return move.fits ? ms(move.bottleneck_s) : "-";
  };
  for (const joint::CutReason& reason : certificate.cuts) {
    rows.push_back({fmt::format("{}", reason.cut.value()),
                    move_text(reason.left, balance.best.makespan_s), slowest(reason.left),
                    move_text(reason.right, balance.best.makespan_s), slowest(reason.right)});
  }
  return text + "\nwhy the cuts stand where they stand\n" + text_table(rows);
}

std::string bound_text(const metrics::PartitionMetrics& m) {
  return fmt::format("slowest stage {} ms (with as much recomputation no cuts are below {} ms)\n",
                     ms(m.bottleneck_s), ms(m.lower_bound_s));
}

std::string to_text(const plan::ModelBalance& balance, const PartitionFlags& flags) {
  const metrics::PartitionMetrics& m = balance.metrics;
  return stage_table(balance) +
         fmt::format(
             "\n{}: step of {} micro-batches takes {} by {}; {} other candidates simulated\n"
             "slowest forward {} ms; variance of the stages' forward time {:.3f} ms^2; {} cross "
             "the "
             "cuts a micro-batch\n",
             flags.method, *flags.micro_batches, format_seconds(balance.best.makespan_s),
             flags.schedule, balance.alternatives.size(), ms(m.bottleneck_forward_s),
             m.var_forward_ms2, format_bytes(m.sum_comm_bytes)) +
         (balance.certificate ? certificate_text(balance) : bound_text(m));
}

Result<Output> run_partition(const PartitionFlags& flags, const Context& context) {
  OMNIBAL_ASSIGN(const cost::Profile profile, cost::read_profile(flags.profile));
  OMNIBAL_ASSIGN(const plan::ModelBalanceRequest request,
                 to_request(flags, profile, context.threads));
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
                   "recompute; uniform: equal layer counts",
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
          "omnibal partition profile.json --pp 4 --micro-batches 16 --method min-max --json",
      .flags = joined({pipeline_flags(*flags), method_flags(*flags), constraint_flags(*flags)}),
      .run = [flags](const Context& context) { return run_partition(*flags, context); }};
}

}  // namespace omnibal::cli
