// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/options/index_list.h"
#include "cli/options/model_flags.h"
#include "cli/text_table.h"
#include "omnibal/base/quantity.h"
#include "omnibal/codec/atomic_write.h"
#include "omnibal/plan/plan_pipeline.h"
#include "omnibal/simulate/chrome_trace.h"
#include "omnibal/simulate/step_report.h"

namespace omnibal::cli {
namespace {

struct SimulateFlags {
  std::optional<std::string> directory;
  std::optional<std::int64_t> step;
  std::optional<std::string> profile;
  std::optional<std::string> cuts;
  std::optional<std::string> recompute_layers;
  std::optional<std::int64_t> micro_batches;
  std::optional<std::string> schedule;
  std::optional<std::string> loads;
  std::optional<std::string> cluster;
  std::optional<std::string> trace;
};

/// Flags that belong to the other form of the command.
Status refuse_flags(const std::vector<std::pair<std::string, bool>>& given, std::string_view form) {
  for (const auto& [name, is_given] : given) {
    if (!is_given) continue;
    return Error(ErrorCode::kInvalidArgument, fmt::format("{} does not go with {}", name, form))
        .at_key(name)
        .with_hint("simulate a plan directory, or a --profile with --cuts and --micro-batches");
  }
  return {};
}

std::vector<std::vector<cost::Load>> loads_of_ranks(const plan::PlanReader& plan,
                                                    std::int64_t step) {
  std::vector<std::vector<cost::Load>> loads;
  for (std::int64_t rank = 0; rank < plan.steps()->dp; ++rank) {
    loads.push_back(plan::loads_of_step(*plan.steps(), plan.pack_loads(), step, rank));
  }
  return loads;
}

Status check_step(const plan::PlanReader& plan, std::int64_t step) {
  if (step < plan.steps()->num_steps) return {};
  return Error(ErrorCode::kOutOfRange, fmt::format("the plan has no step {}", step))
      .at_key("--step")
      .with_value(step)
      .with_limit(plan.steps()->num_steps - 1);
}

Result<simulate::StepReport> simulate_plan(const SimulateFlags& flags) {
  OMNIBAL_RETURN_IF_ERROR(refuse_flags({{"--profile", flags.profile.has_value()},
                                        {"--cuts", flags.cuts.has_value()},
                                        {"--recompute-layers", flags.recompute_layers.has_value()},
                                        {"--micro-batches", flags.micro_batches.has_value()},
                                        {"--loads", flags.loads.has_value()},
                                        {"--cluster", flags.cluster.has_value()}},
                                       "a plan directory, which has its own"));
  OMNIBAL_ASSIGN(const plan::PlanReader plan, plan::PlanReader::open(*flags.directory));
  OMNIBAL_ASSIGN(const plan::PlanPipeline pipeline, plan::read_pipeline(plan));
  OMNIBAL_RETURN_IF_ERROR(check_step(plan, flags.step.value_or(0)));
  schedule::Schedule schedule = pipeline.schedule;
  if (flags.schedule) {
    OMNIBAL_ASSIGN(const schedule::ScheduleKind kind,
                   schedule::parse_schedule_kind(*flags.schedule));
    OMNIBAL_ASSIGN(schedule,
                   schedule::make_schedule(kind, schedule.num_stages, schedule.num_micro_batches));
  }
  return simulate::report_step({*plan.profile(), pipeline.cuts, pipeline.recompute, schedule,
                                loads_of_ranks(plan, flags.step.value_or(0)),
                                pipeline.steps.links});
}

/// One load a micro-batch: from --loads, or the profile's own --micro-batches times.
Result<std::vector<cost::Load>> loads_of_flags(const SimulateFlags& flags,
                                               const cost::Profile& profile) {
  if (!flags.loads) {
    if (!flags.micro_batches) {
      return Error(ErrorCode::kInvalidArgument, "--profile needs --micro-batches or --loads")
          .at_key("--micro-batches")
          .with_hint("say how many micro-batches a step has: --micro-batches 32");
    }
    return std::vector<cost::Load>(static_cast<std::size_t>(*flags.micro_batches), profile.load);
  }
  OMNIBAL_ASSIGN(std::vector<cost::Load> loads, simulate::read_loads(*flags.loads));
  const auto given = static_cast<std::int64_t>(loads.size());
  if (flags.micro_batches.value_or(given) == given) return loads;
  return Error(ErrorCode::kInvalidArgument, fmt::format("{} has {} loads for {} micro-batches",
                                                        *flags.loads, given, *flags.micro_batches))
      .at_key("--micro-batches")
      .with_value(*flags.micro_batches)
      .with_limit(given);
}

Result<partition::Cuts> cuts_of_flags(const SimulateFlags& flags, std::size_t num_layers) {
  OMNIBAL_ASSIGN(const std::vector<std::int64_t> layers,
                 parse_index_list(flags.cuts.value_or(""), "--cuts"));
  partition::Cuts cuts;
  for (const std::int64_t layer : layers) {
    // Anything beyond 32 bits is beyond the layers: check_cuts says so.
    cuts.push_back(LayerIndex{static_cast<std::int32_t>(std::min<std::int64_t>(layer, INT32_MAX))});
  }
  OMNIBAL_RETURN_IF_ERROR(partition::check_cuts(cuts, static_cast<std::int32_t>(num_layers)));
  return cuts;
}

Result<simulate::StepReport> simulate_profile(const SimulateFlags& flags) {
  OMNIBAL_RETURN_IF_ERROR(
      refuse_flags({{"--step", flags.step.has_value()}}, "--profile, which has no steps"));
  OMNIBAL_ASSIGN(const cost::Profile profile, cost::read_profile(*flags.profile));
  OMNIBAL_ASSIGN(const std::vector<cost::Load> loads, loads_of_flags(flags, profile));
  OMNIBAL_ASSIGN(const partition::Cuts cuts, cuts_of_flags(flags, profile.layers.size()));
  OMNIBAL_ASSIGN(const std::vector<std::int64_t> recomputed,
                 parse_index_list(flags.recompute_layers.value_or(""), "--recompute-layers"));
  OMNIBAL_ASSIGN(const recompute::RecomputeMask mask,
                 recompute::mask_of(recomputed, profile.layers.size()));
  OMNIBAL_ASSIGN(const schedule::ScheduleKind kind,
                 schedule::parse_schedule_kind(flags.schedule.value_or("1f1b")));
  const std::size_t num_stages = cuts.size() + 1;
  OMNIBAL_ASSIGN(const schedule::Schedule schedule,
                 schedule::make_schedule(kind, static_cast<std::int32_t>(num_stages),
                                         static_cast<std::int32_t>(loads.size())));
  std::vector<std::vector<cluster::Link>> links;
  if (flags.cluster) {
    OMNIBAL_ASSIGN(const cluster::ClusterSpec cluster, cluster::load_cluster(*flags.cluster));
    links.push_back(
        simulate::boundary_links(cluster, {.pp = static_cast<std::int64_t>(num_stages)}));
  }
  return simulate::report_step({profile, cuts, mask, schedule, {loads}, links});
}

Result<simulate::StepReport> simulate_any(const SimulateFlags& flags) {
  if (flags.directory) return simulate_plan(flags);
  if (flags.profile) return simulate_profile(flags);
  return Error(ErrorCode::kInvalidArgument, "there is nothing to simulate")
      .with_hint("name a plan directory, or a --profile with --cuts and --micro-batches");
}

std::vector<std::pair<std::string, double>> parts(const simulate::Breakdown& breakdown) {
  return {{"useful_s", breakdown.useful_s},
          {"recompute_s", breakdown.recompute_s},
          {"stage_imbalance_s", breakdown.stage_imbalance_s},
          {"rank_imbalance_s", breakdown.rank_imbalance_s},
          {"bubble_s", breakdown.bubble_s},
          {"communication_s", breakdown.communication_s}};
}

codec::Json to_json(const simulate::StepReport& report) {
  codec::Json json = {{"makespan_s", report.step.makespan_s},
                      {"bubble_fraction", report.step.bubble_fraction},
                      {"breakdown", codec::Json::object()},
                      {"ranks", codec::Json::array()}};
  for (const auto& [name, seconds] : parts(report.step.breakdown)) {
    json["breakdown"][name] = seconds;
  }
  const std::size_t num_stages = report.step.ranks.size() / report.timelines.size();
  for (std::size_t i = 0; i < report.step.ranks.size(); ++i) {
    json["ranks"].push_back({{"dp_rank", i / num_stages},
                             {"stage", i % num_stages},
                             {"busy_s", report.step.ranks[i].busy_s},
                             {"idle_s", report.step.ranks[i].idle_s},
                             {"peak_bytes", report.peak_bytes[i]}});
  }
  return json;
}

std::string to_text(const simulate::StepReport& report) {
  const double device_seconds =
      report.step.makespan_s * static_cast<double>(report.step.ranks.size());
  std::vector<std::vector<std::string>> where{{"where time goes", "device-seconds", "share"}};
  for (const auto& [name, seconds] : parts(report.step.breakdown)) {
    std::string words = name.substr(0, name.size() - 2);
    std::replace(words.begin(), words.end(), '_', ' ');
    where.push_back(
        {words, fmt::format("{:.3f}", seconds),
         fmt::format("{:.1f} %", device_seconds > 0 ? 100 * seconds / device_seconds : 0.0)});
  }
  std::vector<std::vector<std::string>> ranks{{"dp rank, stage", "busy s", "idle s", "peak"}};
  const std::size_t num_stages = report.step.ranks.size() / report.timelines.size();
  for (std::size_t i = 0; i < report.step.ranks.size(); ++i) {
    ranks.push_back({fmt::format("{}, {}", i / num_stages, i % num_stages),
                     fmt::format("{:.3f}", report.step.ranks[i].busy_s),
                     fmt::format("{:.3f}", report.step.ranks[i].idle_s),
                     format_bytes(report.peak_bytes[i])});
  }
  return fmt::format("step {}, idle {:.1f} % of all device time\n\n{}\n{}",
                     format_seconds(report.step.makespan_s), 100 * report.step.bubble_fraction,
                     text_table(where), text_table(ranks));
}

Result<Output> run_simulate(const SimulateFlags& flags) {
  OMNIBAL_ASSIGN(const simulate::StepReport report, simulate_any(flags));
  if (flags.trace) {
    OMNIBAL_RETURN_IF_ERROR(
        codec::write_file_atomically(*flags.trace, simulate::chrome_trace(report.timelines)));
  }
  return Output{to_json(report), to_text(report), 0};
}

std::vector<Flag> profile_flags(SimulateFlags& flags) {
  return {{.name = "--profile",
           .target = &flags.profile,
           .help = "A profile to simulate instead of a plan",
           .value_name = "FILE"},
          {.name = "--cuts",
           .target = &flags.cuts,
           .help = "Layers at which a new stage begins; none: one stage",
           .value_name = "LIST"},
          {.name = "--recompute-layers",
           .target = &flags.recompute_layers,
           .help = "Layers that recompute their activations, as 0-9,50",
           .value_name = "LIST"},
          micro_batches_flag(&flags.micro_batches),
          {.name = "--loads",
           .target = &flags.loads,
           .help = "Loads of the micro-batches, a JSON array; absent: the profile's reference load",
           .value_name = "FILE"},
          cluster_flag(&flags.cluster,
                       "Cluster whose links carry the boundaries of --profile, a device a stage")};
}

/// What both forms of the command take.
std::vector<Flag> step_flags(SimulateFlags& flags) {
  return {{.name = "DIR", .target = &flags.directory, .help = "A plan directory"},
          {.name = "--step",
           .target = &flags.step,
           .help = "Which step of the plan, from 0 [default: 0]",
           .value_name = "K",
           .min = 0},
          schedule_flag(&flags.schedule, "Pipeline schedule [default: the plan's own, or 1f1b]"),
          {.name = "--trace",
           .target = &flags.trace,
           .help = "Where to write the timeline as a Chrome trace, for Perfetto",
           .value_name = "FILE"}};
}

}  // namespace

Command make_simulate_command() {
  auto flags = std::make_shared<SimulateFlags>();
  return {
      .name = "simulate",
      .summary = "Simulate a step of a plan, or of a profile with cuts, and say where time goes",
      .description =
          "Executes the schedule of one optimizer step with the load of every micro-batch and says "
          "where the time of all devices goes: useful work, recomputation, stages and ranks that "
          "wait for slower ones, communication, and the bubble of the schedule itself. "
          "Imbalances are told apart by removing one cause after the other and simulating again. "
          "The parts sum to the step's time on all devices.",
      .example =
          "omnibal simulate plan/ --step 3 --trace trace.json\n"
          "omnibal simulate --profile profile.json --cuts 22,44,71 --micro-batches 32",
      .flags = joined({step_flags(*flags), profile_flags(*flags)}),
      .run = [flags](const Context&) { return run_simulate(*flags); }};
}

}  // namespace omnibal::cli
