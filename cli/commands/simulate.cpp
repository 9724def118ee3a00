// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/options/model_flags.h"
#include "cli/simulate_subject.h"
#include "cli/step_text.h"
#include "cli/text_table.h"
#include "cli/zero3_step.h"
#include "omnibal/base/quantity.h"
#include "omnibal/codec/atomic_write.h"
#include "omnibal/schedule/layout.h"
#include "omnibal/simulate/chrome_trace.h"
#include "omnibal/simulate/step_report.h"

namespace omnibal::cli {
namespace {

/// --cluster stands in for the plan's own, whose links then cost time.
Status apply_cluster(const SimulateFlags& flags, SimulateSubject& subject) {
  if (!flags.cluster) return {};
  OMNIBAL_ASSIGN(subject.cluster, cluster::load_cluster(*flags.cluster));
  subject.links_cost = true;
  return cluster::check_sizes(subject.sizes, subject.sizes.gpus(), *subject.cluster);
}

Result<simulate::StepEnd> end_of_flags(const SimulateFlags& flags, const SimulateSubject& subject) {
  simulate::Reduction reduction = subject.update;
  if (flags.update) {
    OMNIBAL_ASSIGN(reduction, simulate::parse_reduction(*flags.update));
  }
  if (reduction == simulate::Reduction::kNone) return simulate::StepEnd{};
  if (!subject.cluster) {
    return no_cluster_for_update();
  }
  return simulate::step_end(
      {subject.profile, subject.cuts, subject.schedule, *subject.cluster, subject.sizes},
      reduction);
}

Result<simulate::StepReport> simulate_subject(const SimulateFlags& flags,
                                              const SimulateSubject& subject) {
  std::vector<std::vector<cluster::Link>> links;
  for (std::int64_t rank = 0; subject.links_cost && rank < subject.sizes.dp; ++rank) {
    links.push_back(
        simulate::boundary_links(*subject.cluster, subject.sizes, rank, subject.schedule));
  }
  OMNIBAL_ASSIGN(simulate::StepEnd end, end_of_flags(flags, subject));
  return simulate::report_step({subject.profile, subject.cuts, subject.recompute, subject.schedule,
                                subject.loads, std::move(links), std::move(end)});
}

/// Cuts made for a stage a rank also fill fewer ranks with several stages each.
void warn_of_few_ranks(const SimulateFlags& flags, const SimulateSubject& subject,
                       const Context& context) {
  const auto stages = static_cast<std::int64_t>(subject.schedule.stage_rank.size());
  if (!flags.profile || flags.pp || flags.vision || stages == subject.sizes.pp) return;
  context.warn(
      fmt::format("{} on {}, {} a rank; for more ranks give more --cuts "
                  "(omnibal partition --schedule {} --pp N makes them), --pp says how "
                  "many there must be",
                  counted(stages, "stage"), counted(subject.sizes.pp, "rank"),
                  stages / subject.sizes.pp, to_string(subject.schedule.kind)));
}

Result<Output> run_simulate(const SimulateFlags& flags, const Context& context) {
  if (flags.zero3 && !flags.directory) return simulate_zero3_step(flags);
  OMNIBAL_ASSIGN(SimulateSubject subject, subject_of(flags));
  warn_of_few_ranks(flags, subject, context);
  OMNIBAL_RETURN_IF_ERROR(apply_cluster(flags, subject));
  OMNIBAL_ASSIGN(const simulate::StepReport report, simulate_subject(flags, subject));
  if (flags.trace) {
    const std::string trace =
        simulate::chrome_trace(report.timelines, {report.memory, report.step.end.spans});
    OMNIBAL_RETURN_IF_ERROR(codec::write_file_atomically(*flags.trace, trace));
  }
  return Output{to_json(report, subject.schedule), to_text(report, subject.schedule), 0};
}

std::vector<Flag> profile_flags(SimulateFlags& flags) {
  return {{.name = "--profile",
           .target = &flags.profile,
           .help = "A profile to simulate instead of a plan",
           .value_name = "FILE"},
          micro_batches_flag(&flags.micro_batches),
          {.name = "--pp",
           .target = &flags.pp,
           .help = "Ranks that the stages of --cuts must fill, --chunks each [default: as many as "
                   "they do]",
           .value_name = "N",
           .min = 1,
           .max = kMostDevices},
          {.name = "--loads",
           .target = &flags.loads,
           .help = "Loads of the micro-batches of --profile, a JSON array; absent: the profile's "
                   "reference load",
           .value_name = "FILE"},
          {.name = "--vision",
           .target = &flags.vision,
           .help = "Run the first stage of --cuts, the vision layers, spread over the ranks of the "
                   "pipeline (before and behind it, or nested into it) or on ranks apart",
           .choices = schedule::vision_places()},
          count_flag("--vision-ranks", &flags.vision_ranks, "Ranks of --vision apart [default: 1]"),
          count_flag("--tp", &flags.tp, "Devices of a tensor group of --profile [default: 1]"),
          {.name = "--zero3",
           .target = &flags.zero3,
           .help = "Simulate --profile as ZeRO-3 runs it: no pipeline, weights gathered layer by "
                   "layer, all states sharded over --dp ranks"},
          {.name = "--prefetch",
           .target = &flags.prefetch,
           .help = "Layers that --zero3 gathers ahead of the one that computes [default: 1]",
           .value_name = "N",
           .min = 0,
           .max = 1024},
          {.name = "--dp",
           .target = &flags.dp,
           .help = "Data-parallel ranks of --profile, all with the same loads [default: 1]",
           .value_name = "N",
           .min = 1,
           .max = kMostDataParallelRanks}};
}

/// What both forms of the command take.
std::vector<Flag> step_flags(SimulateFlags& flags) {
  return {{.name = "DIR", .target = &flags.directory, .help = "A plan directory"},
          {.name = "--step",
           .target = &flags.step,
           .help = "Which step of the plan, from 0 [default: 0]",
           .value_name = "K",
           .min = 0},
          {.name = "--cuts",
           .target = &flags.cuts,
           .help = "Layers at which a new stage begins [default: the plan's own, or one stage]",
           .value_name = "LIST"},
          {.name = "--recompute-layers",
           .target = &flags.recompute_layers,
           .help = "Layers that recompute their activations, as 0-9,50 [default: the plan's own, "
                   "or none]",
           .value_name = "LIST"},
          {.name = "--recompute-choice",
           .target = &flags.recompute_choice,
           .help = "Layers that spare memory by a choice that the profile names, as "
                   "0-9:mlp,12:attention; with --recompute-layers all that do",
           .value_name = "LIST:NAME,..."},
          {.name = "--schedule",
           .target = &flags.schedule,
           .help = "Pipeline schedule [default: the plan's own, or 1f1b]",
           .choices = schedule::schedule_kinds()},
          chunks_flag(&flags.chunks),
          cluster_flag(&flags.cluster,
                       "Cluster whose links carry the boundaries, instead of the plan's own; "
                       "without, those of --profile take no time"),
          {.name = "--update",
           .target = &flags.update,
           .help = "What ends the step: nothing, or gradients reduced over the data-parallel ranks "
                   "(all to all, or shares) and the optimizer [default: the plan's own, or none]",
           .choices = simulate::reduction_names()},
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
          "omnibal simulate --profile profile.json --cuts 22,44,71 --micro-batches 32\n"
          "omnibal simulate --profile profile.json --cuts 11,22,33,44,57,71,84 --micro-batches 32 "
          "--schedule zb-v --cluster a100-80g --dp 8 --update distributed\n"
          "omnibal simulate --profile profile.json --cuts 46,58,70,83 --micro-batches 32 "
          "--vision nested\n"
          "omnibal simulate --profile profile.json --zero3 --dp 64 --micro-batches 4 "
          "--cluster a100-80g --recompute-layers 0-94",
      .flags = joined({step_flags(*flags), profile_flags(*flags)}),
      .run = [flags](const Context& context) { return run_simulate(*flags, context); }};
}

}  // namespace omnibal::cli
