// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "cli/command.h"
#include "cli/plan_diff_text.h"
#include "cli/plan_flags.h"
#include "cli/plan_reuse.h"
#include "cli/plan_sizes.h"
#include "cli/plan_text.h"
#include "cli/sample_place.h"
#include "omnibal/base/quantity.h"
#include "omnibal/plan/plan_directory.h"
#include "omnibal/plan/planner.h"

namespace omnibal::cli {
namespace {

/// A measured profile holds for one tensor-parallel size, and for what trained in its run.
Status check_profile(const PlanFlags& flags) {
  if (flags.profile.empty()) return {};
  for (const auto& [name, given] : {std::pair("--freeze", !flags.model.freeze.empty()),
                                    std::pair("--lora", !flags.model.lora.empty())}) {
    if (!given) continue;
    return Error(ErrorCode::kInvalidArgument,
                 "a measured profile says itself which layers train and what that costs")
        .at_key(name)
        .with_hint(fmt::format("measure a run that trains so, or leave {} or --profile out", name));
  }
  if (head_policy(flags.model) == cost::HeadPolicy::kPad) {
    return Error(ErrorCode::kInvalidArgument,
                 "a measured profile has the attention heads of its run")
        .at_key("--heads")
        .with_value(flags.model.heads)
        .with_hint("measure a run with padded heads, or leave --heads or --profile out");
  }
  if (flags.sizes.tp || !sizes_are_open(flags.sizes)) return {};
  return Error(ErrorCode::kInvalidArgument, "a measured profile holds for the tp of its run")
      .at_key("--tp")
      .with_hint("give --tp beside --profile");
}

/// Layouts that --layout asks to be predicted beside the plan.
std::vector<plan::Layout> layouts_of(const PlanFlags& flags) {
  using plan::Layout;
  std::vector<Layout> layouts;
  for (const Layout layout : {Layout::kColocated, Layout::kDisjoint}) {
    if (flags.layout == "auto" || flags.layout == to_string(layout)) layouts.push_back(layout);
  }
  return layouts;
}

/// All but sizes that are to be searched.
Result<plan::PlanRequest> request_of(const PlanFlags& flags, const cluster::ClusterSpec& cluster,
                                     const Context& context) {
  plan::PlanRequest request;
  OMNIBAL_RETURN_IF_ERROR(check_flags(flags.sizes));
  request.global_batch = flags.global_batch;
  request.micro_batch = flags.packing.micro_batch;
  if (!flags.schedule.empty()) {
    OMNIBAL_ASSIGN(request.schedule, schedule::parse_schedule_kind(flags.schedule));
    request.chunks = chunks_of(flags.chunks, request.schedule);
  }
  if (flags.memory) request.memory_bytes = flags.memory->bytes;
  if (!flags.profile.empty()) {
    OMNIBAL_ASSIGN(request.profile, cost::read_profile(flags.profile));
  }
  request.heads = head_policy(flags.model);
  OMNIBAL_ASSIGN(request.choices, cost::parse_choice_set(flags.recompute_choices));
  request.free_links = flags.links == "free";
  if (flags.zero3) {
    OMNIBAL_ASSIGN(request.zero3_flops, plan::zero3_rate(*flags.zero3, cluster));
  }
  request.layouts = layouts_of(flags);
  request.threads = context.threads;
  OMNIBAL_RETURN_IF_ERROR(check_profile(flags));
  if (sizes_are_open(flags.sizes)) return request;
  OMNIBAL_ASSIGN(request.sizes, sizes_of(flags.sizes, cluster));
  OMNIBAL_RETURN_IF_ERROR(plan::micro_batches_of(request));
  return request;
}

/// What is planned for what.
struct PlanSubject {
  model::ModelSpec model;
  cluster::ClusterSpec cluster;
  corpus::LoadedCorpus loaded;
};

/// A corpus counts units of its own kind; costs are wrong if the model's are others.
void warn_of_other_unit(const corpus::VisionUnit& unit, const model::ModelSpec& model,
                        const Context& context) {
  if (unit.vision_tokens == model.vision.tokens_per_unit) return;
  context.warn(
      fmt::format("the samples count vision units of {} tokens ({}), {} has units of {}: "
                  "the predicted times are of the wrong unit",
                  unit.vision_tokens, unit.name, model.name, model.vision.tokens_per_unit));
}

/// Caps that were chosen leave samples out where memory has none for them.
void warn_of_rejected(const plan::Plan& plan, const Context& context) {
  const std::size_t rejected = plan.data.admission.rejected.size();
  if (rejected == 0 || !plan.data_options.choice) return;
  context.warn(
      fmt::format("{} of {} samples fit in no pack and are left out: rejected.jsonl names "
                  "them; more --memory or --gpus, or other sizes, may hold them",
                  rejected, rejected + plan.data.admission.accepted.size()));
}

/// What is asked of packs and steps when packs are padded for the request's tp.
Status ask_for_data(const PlanFlags& flags, const corpus::Corpus& corpus, const Context& context,
                    plan::PlanRequest& request) {
  const plan::CapQuestion caps =
      cap_question(flags.packing, pack::token_multiple(1, request.sizes.tp));
  OMNIBAL_ASSIGN(request.data, data_plan_options(flags.packing, caps, corpus, context.seed));
  OMNIBAL_ASSIGN(request.data.method, pack::parse_method(flags.method));
  if (caps_are_open(flags.packing)) request.caps = caps;
  OMNIBAL_ASSIGN(request.data.steps, step_options(flags.steps, context.seed));
  request.data.worst_first = flags.steps.worst_first;
  return {};
}

/// Sizes and schedule that were left open, filled in; nothing where they are given.
Result<std::optional<SizeSearch>> fill_open(const PlanFlags& flags, const PlanSubject& subject,
                                            const Context& context, plan::PlanRequest& request) {
  std::optional<SizeSearch> search;
  const bool sizes_open = sizes_are_open(flags.sizes);
  const bool schedule_open = flags.schedule.empty() && (sizes_open || request.sizes.pp > 1);
  if (!sizes_open && !schedule_open) return search;
  OMNIBAL_RETURN_IF_ERROR(ask_for_data(flags, subject.loaded.corpus, context, request));
  plan::SizeTask task{.samples = plan::columns(subject.loaded.corpus),
                      .model = subject.model,
                      .cluster = subject.cluster,
                      .request = request,
                      .asked = asked_of(flags.sizes, request.sizes)};
  if (schedule_open) task.asked.schedules = plan::searched_schedules(flags.chunks);
  OMNIBAL_ASSIGN(search, search_sizes(task, flags.sizes.hours, context));
  const plan::SizeCandidate& best = search->chosen().best();
  request.sizes = best.sizes;
  request.schedule = best.schedule.kind;
  request.chunks = best.schedule.chunks;
  request.chosen_caps = best.caps;
  return search;
}

/// Packs are whole: few large ones a rank miss the global batch.
void warn_of_other_batch(const plan::Plan& plan, std::int64_t global_batch,
                         const Context& context) {
  constexpr double kFar = 0.1;
  const double samples = plan.data.step_summary->samples_per_step.mean;
  const auto asked = static_cast<double>(global_batch);
  if (std::abs(samples / asked - 1) <= kFar) return;
  context.warn(fmt::format(
      "a step has {:.3g} samples, the global batch has {}: choose a --global-batch that more "
      "micro-batches fill, fewer data-parallel ranks, or other caps",
      samples, global_batch));
}

/// --memory stands in for the cluster's: a plan for more than devices have runs on others alone.
void warn_of_memory(const PlanFlags& flags, const plan::Plan& plan, const Context& context) {
  const cluster::ClusterSpec& cluster = plan.cluster;
  const auto fullest = std::ranges::max_element(plan.ranks, {}, &metrics::RankSummary::peak_bytes);
  if (!flags.memory || (fullest->peak_bytes <= cluster.usable_bytes() &&
                        flags.memory->bytes <= cluster.device_memory_bytes)) {
    return;
  }
  context.warn(fmt::format("--memory allows {}, a device of {} has {}: rank {} needs {}",
                           format_bytes(flags.memory->bytes), cluster.name,
                           format_bytes(cluster.usable_bytes()), fullest - plan.ranks.begin(),
                           format_bytes(fullest->peak_bytes)));
}

Result<Output> make_and_write(const PlanFlags& flags, const PlanSubject& subject,
                              plan::PlanRequest request, const plan::Provenance& provenance,
                              const Context& context) {
  const corpus::Corpus& corpus = subject.loaded.corpus;
  OMNIBAL_ASSIGN(const std::optional<SizeSearch> search,
                 fill_open(flags, subject, context, request));
  OMNIBAL_RETURN_IF_ERROR(ask_for_data(flags, corpus, context, request));
  Result<plan::Plan> made =
      plan::make_plan(corpus, subject.model, subject.cluster, request, context.progress);
  if (!made) return at_its_source(std::move(made).error(), corpus);
  const plan::Plan& plan = *made;
  warn_of_rejected(plan, context);
  warn_of_memory(flags, plan, context);
  warn_of_other_batch(plan, request.global_batch, context);
  codec::Json keys = plan::to_json(plan, corpus);
  if (search) keys["search"] = to_json(*search);
  std::string text = (search ? to_text(*search) + '\n' : "") + to_text(plan, flags.explain);
  if (flags.dry_run) return Output{std::move(keys), std::move(text)};
  OMNIBAL_RETURN_IF_ERROR(plan::write_plan({.corpus = corpus,
                                            .data = plan.data,
                                            .profile = &plan.profile,
                                            .provenance = provenance,
                                            .document = keys,
                                            .threads = context.threads},
                                           flags.out));
  text += fmt::format("written to {}\n", flags.out);
  return Output{std::move(keys), std::move(text)};
}

Result<Output> run_plan(const PlanFlags& flags, const Context& context) {
  if (flags.out.empty() && !flags.dry_run) {
    return Error(ErrorCode::kInvalidArgument, "where should the plan be written?")
        .at_key("--out")
        .with_hint("give --out DIR, or --dry-run to write nothing");
  }
  PlanSubject subject;
  OMNIBAL_ASSIGN(subject.model, load_model(flags.model));
  OMNIBAL_ASSIGN(subject.cluster, cluster::load_cluster(flags.model.cluster));
  OMNIBAL_ASSIGN(const std::optional<codec::Json> other, read_other(flags.diff));
  OMNIBAL_ASSIGN(plan::PlanRequest request, request_of(flags, subject.cluster, context));
  OMNIBAL_RETURN_IF_ERROR(check_flags(flags.packing));
  OMNIBAL_ASSIGN(subject.loaded, load_corpus(flags.corpus, context));
  warn_of_other_unit(subject.loaded.corpus.unit, subject.model, context);
  plan::Provenance provenance{.options = options_json(flags, request.sizes),
                              .inputs = subject.loaded.inputs,
                              .seed = context.seed};
  OMNIBAL_ASSIGN(provenance.configuration, configuration_files(flags));
  if (flags.reuse) {
    OMNIBAL_ASSIGN(std::optional<Output> kept, keep_plan(flags.out, provenance, context));
    if (kept) {
      if (other) add_diff(flags.diff, *other, *kept);
      return *std::move(kept);
    }
  }
  OMNIBAL_ASSIGN(Output output,
                 make_and_write(flags, subject, std::move(request), provenance, context));
  if (other) add_diff(flags.diff, *other, output);
  return output;
}

}  // namespace

Command make_plan_command() {
  auto flags = std::make_shared<PlanFlags>();
  return {.name = "plan",
          .summary = "Plan a training run: packs, steps, stages, recomputation, prediction",
          .description =
              "Packs the samples under the caps, forms steps whose ranks carry equal loads, cuts "
              "the model into balanced pipeline stages, chooses what recomputes within memory, "
              "and simulates every step of the epoch. Prints the ablation: what each balance "
              "saves against random batches, stages of equal parameters and full recomputation.",
          .example =
              "omnibal plan corpus/ --model internvl-chat-1.5-26b --cluster a100-80g "
              "--gpus 64 --tp 2 --pp 4 --out plan/\n"
              "omnibal plan my_lengths.json --model internvit-300m+qwen2.5-0.5b --cluster "
              "h100-80g --gpus 8 --tp 1 --pp 2 --vision-cap 12 --token-cap 4096 --dry-run "
              "--explain",
          .flags = plan_flags(*flags),
          .run = [flags](const Context& context) { return run_plan(*flags, context); }};
}

}  // namespace omnibal::cli
