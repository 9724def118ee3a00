// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate_subject.h"

#include <fmt/format.h>

#include "cli/options/index_list.h"
#include "cli/text_table.h"
#include "omnibal/base/quantity.h"
#include "omnibal/plan/plan_pipeline.h"
#include "omnibal/schedule/layout.h"
#include "omnibal/simulate/step_report.h"

namespace omnibal::cli {
namespace {

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
  return Error(ErrorCode::kInvalidArgument, fmt::format("the plan has no step {}", step))
      .at_key("--step")
      .with_value(step)
      .with_limit(plan.steps()->num_steps - 1);
}

Result<partition::Cuts> cuts_of_flags(const SimulateFlags& flags, std::size_t num_layers) {
  OMNIBAL_ASSIGN(const std::vector<std::int64_t> layers,
                 parse_index_list(flags.cuts.value_or(""), "--cuts"));
  partition::Cuts cuts;
  for (const std::int64_t layer : layers) {
    // Anything beyond 32 bits is beyond the layers: check_cuts says so.
    cuts.push_back(LayerIndex{static_cast<std::int32_t>(std::min<std::int64_t>(layer, INT32_MAX))});
  }
  Status fits = partition::check_cuts(cuts, static_cast<std::int32_t>(num_layers));
  if (!fits.ok()) return of_flag(std::move(fits).error(), "--cuts");
  return cuts;
}

/// "0-9:mlp".
Result<std::vector<cost::NamedChoice>> named_choices_of(const SimulateFlags& flags) {
  std::vector<cost::NamedChoice> named;
  for (const std::string& text : flags.recompute_choice) {
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos) {
      return Error(ErrorCode::kInvalidArgument, "which choice do the layers take?")
          .at_key("--recompute-choice")
          .with_value(text)
          .with_hint("write layers and a name of the profile's recompute_choices: 0-9:mlp");
    }
    OMNIBAL_ASSIGN(const std::vector<std::int64_t> layers,
                   parse_index_list(text.substr(0, colon), "--recompute-choice"));
    for (const std::int64_t layer : layers) named.push_back({layer, text.substr(colon + 1)});
  }
  return named;
}

/// Sets profile and recomputation of the subject as the flags say.
Status spare_memory(const SimulateFlags& flags, const cost::Profile& profile,
                    SimulateSubject& subject) {
  OMNIBAL_ASSIGN(const recompute::RecomputeMask whole, recomputed_of_flags(flags, profile));
  OMNIBAL_ASSIGN(const std::vector<cost::NamedChoice> named, named_choices_of(flags));
  Result<cost::LayerChoices> choices = cost::choices_of(profile, whole, named);
  if (!choices) return of_flag(std::move(choices).error(), "--recompute-choice");
  subject.recompute = cost::spares_memory(*choices);
  subject.profile = cost::with_choices(profile, *choices);
  return {};
}

/// The schedule of --schedule (else of the subject's kind) and --chunks for the subject's stages
/// and micro-batches.
Result<schedule::Schedule> schedule_of_flags(const SimulateFlags& flags,
                                             const SimulateSubject& subject) {
  OMNIBAL_ASSIGN(const schedule::ScheduleKind kind,
                 schedule::parse_schedule_kind(
                     flags.schedule.value_or(std::string(to_string(subject.schedule.kind)))));
  const bool same_kind = !subject.schedule.ranks.empty() && subject.schedule.kind == kind;
  const std::int64_t chunks =
      flags.chunks.value_or(same_kind ? subject.schedule.num_stages /
                                            static_cast<std::int64_t>(subject.schedule.ranks.size())
                                      : schedule::fewest_chunks(kind));
  const std::size_t num_stages = subject.cuts.size() + (flags.vision ? 0 : 1);
  OMNIBAL_ASSIGN(schedule::Schedule schedule,
                 schedule::make_schedule(kind, static_cast<std::int32_t>(num_stages),
                                         static_cast<std::int32_t>(subject.loads[0].size()),
                                         {.chunks = static_cast<std::int32_t>(chunks)}));
  if (!flags.vision) return schedule;
  schedule::VisionStage vision;
  OMNIBAL_ASSIGN(vision.place, schedule::parse_vision_place(*flags.vision));
  vision.num_ranks = static_cast<std::int32_t>(flags.vision_ranks.value_or(1));
  if (vision.num_ranks > schedule.num_micro_batches) {
    return Error(ErrorCode::kInvalidArgument, "there are more vision ranks than micro-batches")
        .at_key("--vision-ranks")
        .with_value(std::int64_t{vision.num_ranks})
        .with_limit(std::int64_t{schedule.num_micro_batches})
        .with_hint("each would run none: lower --vision-ranks, or raise --micro-batches");
  }
  return schedule::with_vision_stage(schedule, vision);
}

/// --vision makes the first stage of the cuts the spread one, with a pipeline behind.
Status check_vision(const SimulateFlags& flags) {
  if (flags.vision_ranks && flags.vision != "apart") {
    return Error(ErrorCode::kInvalidArgument, "--vision-ranks goes with --vision apart alone")
        .at_key("--vision-ranks")
        .with_hint("colocated, the vision stage runs on the ranks of the pipeline");
  }
  if (!flags.vision || flags.cuts) return {};
  return Error(ErrorCode::kInvalidArgument, "--vision needs to know where the vision layers end")
      .at_key("--cuts")
      .with_hint("the first cut is the first language layer: --cuts 46,58,70,83");
}

/// --pp says how many ranks the stages should fill.
Status check_pp(const SimulateFlags& flags, const schedule::Schedule& schedule) {
  const auto ranks = static_cast<std::int64_t>(schedule.ranks.size());
  if (flags.pp.value_or(ranks) == ranks) return {};
  const std::int64_t chunks = num_chunks(schedule);
  return Error(ErrorCode::kInvalidArgument, fmt::format("{} with {} a rank fill {}, not {}",
                                                        counted(schedule.num_stages, "stage"),
                                                        chunks, counted(ranks, "rank"), *flags.pp))
      .at_key("--pp")
      .with_value(*flags.pp)
      .with_limit(ranks)
      .with_hint(fmt::format("give {} cuts: omnibal partition --pp {} --schedule {} makes them",
                             *flags.pp * chunks - 1, *flags.pp, to_string(schedule.kind)));
}

Status check_ranks_of_plan(const SimulateSubject& subject) {
  const auto ranks = static_cast<std::int64_t>(subject.schedule.ranks.size());
  if (ranks == subject.sizes.pp) return {};
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("{} need {} with this schedule, the plan's pipeline has {}",
                           counted(subject.schedule.num_stages, "stage"), counted(ranks, "rank"),
                           subject.sizes.pp))
      .at_key("--schedule")
      .with_value(ranks)
      .with_limit(subject.sizes.pp)
      .with_hint("give the cuts of as many stages a rank as the schedule runs: --cuts");
}

Result<SimulateSubject> subject_of_plan(const SimulateFlags& flags) {
  OMNIBAL_RETURN_IF_ERROR(refuse_flags({{"--profile", flags.profile.has_value()},
                                        {"--micro-batches", flags.micro_batches.has_value()},
                                        {"--loads", flags.loads.has_value()},
                                        {"--tp", flags.tp.has_value()},
                                        {"--dp", flags.dp.has_value()},
                                        {"--pp", flags.pp.has_value()},
                                        {"--vision", flags.vision.has_value()},
                                        {"--vision-ranks", flags.vision_ranks.has_value()},
                                        {"--zero3", flags.zero3}},
                                       "a plan directory, which has its own"));
  OMNIBAL_ASSIGN(const plan::PlanReader plan, plan::PlanReader::open(*flags.directory));
  OMNIBAL_ASSIGN(plan::PlanPipeline pipeline, plan::read_pipeline(plan));
  OMNIBAL_RETURN_IF_ERROR(check_step(plan, flags.step.value_or(0)));
  const std::size_t num_layers = plan.profile()->layers.size();
  SimulateSubject subject{.profile = std::move(pipeline.profile),
                          .cuts = std::move(pipeline.cuts),
                          .recompute = std::move(pipeline.recompute),
                          .schedule = std::move(pipeline.schedule),
                          .loads = loads_of_ranks(plan, flags.step.value_or(0)),
                          .sizes = pipeline.sizes,
                          .cluster = std::move(pipeline.cluster),
                          .links_cost = !pipeline.steps.links.empty(),
                          .update = pipeline.update};
  if (flags.cuts) {
    OMNIBAL_ASSIGN(subject.cuts, cuts_of_flags(flags, num_layers));
  }
  if (flags.recompute_layers || !flags.recompute_choice.empty()) {
    OMNIBAL_RETURN_IF_ERROR(spare_memory(flags, *plan.profile(), subject));
  }
  if (flags.schedule || flags.chunks || flags.cuts) {
    OMNIBAL_ASSIGN(subject.schedule, schedule_of_flags(flags, subject));
    OMNIBAL_RETURN_IF_ERROR(check_ranks_of_plan(subject));
  }
  return subject;
}

/// All data-parallel ranks together hold no more actions than one schedule may have.
Status check_actions(const SimulateSubject& subject) {
  std::int64_t of_a_rank = 0;
  for (const auto& actions : subject.schedule.ranks) {
    of_a_rank += static_cast<std::int64_t>(actions.size());
  }
  if (of_a_rank <= schedule::kMaxActions / subject.sizes.dp) return {};
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("{} data-parallel ranks of {} actions are more than can be simulated at "
                           "once",
                           subject.sizes.dp, of_a_rank))
      .at_key("--dp")
      .with_value(subject.sizes.dp)
      .with_limit(schedule::kMaxActions / of_a_rank);
}

Result<SimulateSubject> subject_of_profile(const SimulateFlags& flags) {
  OMNIBAL_RETURN_IF_ERROR(
      refuse_flags({{"--step", flags.step.has_value()}}, "--profile, which has no steps"));
  OMNIBAL_RETURN_IF_ERROR(check_vision(flags));
  SimulateSubject subject;
  OMNIBAL_ASSIGN(const cost::Profile profile, cost::read_profile(*flags.profile));
  OMNIBAL_ASSIGN(const std::vector<cost::Load> loads, loads_of_flags(flags, profile));
  subject.loads.push_back(loads);
  OMNIBAL_ASSIGN(subject.cuts, cuts_of_flags(flags, profile.layers.size()));
  OMNIBAL_RETURN_IF_ERROR(spare_memory(flags, profile, subject));
  OMNIBAL_ASSIGN(subject.schedule, schedule_of_flags(flags, subject));
  OMNIBAL_RETURN_IF_ERROR(check_pp(flags, subject.schedule));
  subject.sizes = {.tp = flags.tp.value_or(1),
                   .pp = static_cast<std::int64_t>(subject.schedule.ranks.size()),
                   .dp = flags.dp.value_or(1)};
  OMNIBAL_RETURN_IF_ERROR(check_actions(subject));
  subject.loads.resize(static_cast<std::size_t>(subject.sizes.dp), loads);
  return subject;
}

}  // namespace

Error of_flag(Error error, const char* flag) {
  error.code = ErrorCode::kInvalidArgument;
  return std::move(error).at_key(flag);
}

Result<recompute::RecomputeMask> recomputed_of_flags(const SimulateFlags& flags,
                                                     const cost::Profile& profile) {
  OMNIBAL_ASSIGN(const std::vector<std::int64_t> layers,
                 parse_index_list(flags.recompute_layers.value_or(""), "--recompute-layers"));
  Result<recompute::RecomputeMask> mask = recompute::mask_of(layers, profile.layers.size());
  if (!mask) return of_flag(std::move(mask).error(), "--recompute-layers");
  return mask;
}

Status refuse_flags(const std::vector<std::pair<std::string, bool>>& given, std::string_view form) {
  for (const auto& [name, is_given] : given) {
    if (!is_given) continue;
    return Error(ErrorCode::kInvalidArgument, fmt::format("{} does not go with {}", name, form))
        .at_key(name)
        .with_hint("simulate a plan directory, or a --profile with --cuts and --micro-batches");
  }
  return {};
}

Error no_cluster_for_update() {
  return Error(ErrorCode::kInvalidArgument, "--update needs a --cluster to be timed on")
      .at_key("--cluster")
      .with_hint("name the devices: --cluster a100-80g");
}

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
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("{} has {} for {}", *flags.loads, counted(given, "load"),
                           counted(*flags.micro_batches, "micro-batch")))
      .at_key("--micro-batches")
      .with_value(*flags.micro_batches)
      .with_limit(given);
}

Result<SimulateSubject> subject_of(const SimulateFlags& flags) {
  OMNIBAL_RETURN_IF_ERROR(refuse_flags({{"--prefetch", flags.prefetch.has_value()}},
                                       "a pipeline, which gathers no weights: it is of --zero3"));
  if (flags.directory) return subject_of_plan(flags);
  if (flags.profile) return subject_of_profile(flags);
  return Error(ErrorCode::kInvalidArgument, "there is nothing to simulate")
      .with_hint("name a plan directory, or a --profile with --cuts and --micro-batches");
}

}  // namespace omnibal::cli
