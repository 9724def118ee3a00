// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/options/data_flags.h"
#include "cli/options/model_flags.h"
#include "cli/plan_reuse.h"
#include "cli/plan_sizes.h"
#include "cli/plan_text.h"
#include "cli/sample_place.h"
#include "omnibal/codec/hash.h"
#include "omnibal/plan/plan_directory.h"
#include "omnibal/plan/planner.h"

namespace omnibal::cli {
namespace {

struct PlanFlags {
  CorpusFlags corpus;
  PackingFlags packing;
  std::string method = "auto";
  ModelFlags model;
  SizeFlags sizes;
  std::int64_t global_batch = 1024;
  std::string schedule = "1f1b";
  std::optional<std::int64_t> chunks;
  std::optional<ByteSize> memory;
  std::string recompute_choices = "full";
  std::string profile;
  StepFlags steps;
  std::string layout = "integrated";
  std::string links = "model";
  bool explain = false;
  bool reuse = false;
  bool dry_run = false;
  std::string out;
};

/// A measured profile holds for one tensor-parallel size.
Status check_searchable(const PlanFlags& flags) {
  if (flags.profile.empty() || flags.sizes.tp) return {};
  return Error(ErrorCode::kInvalidArgument,
               "a measured profile holds for the tp it was measured at")
      .at_key("--tp")
      .with_hint("give --tp beside --profile");
}

/// All but sizes that are to be searched.
Result<plan::PlanRequest> request_of(const PlanFlags& flags, const cluster::ClusterSpec& cluster,
                                     const Context& context) {
  plan::PlanRequest request;
  OMNIBAL_RETURN_IF_ERROR(check_flags(flags.sizes));
  request.global_batch = flags.global_batch;
  request.micro_batch = flags.packing.micro_batch;
  OMNIBAL_ASSIGN(request.schedule, schedule::parse_schedule_kind(flags.schedule));
  request.chunks = chunks_of(flags.chunks, request.schedule);
  if (flags.memory) request.memory_bytes = flags.memory->bytes;
  if (!flags.profile.empty()) {
    OMNIBAL_ASSIGN(request.profile, cost::read_profile(flags.profile));
  }
  request.heads = head_policy(flags.model);
  OMNIBAL_ASSIGN(request.choices, cost::parse_choice_set(flags.recompute_choices));
  request.free_links = flags.links == "free";
  request.threads = context.threads;
  if (sizes_are_open(flags.sizes)) {
    OMNIBAL_RETURN_IF_ERROR(check_searchable(flags));
    return request;
  }
  OMNIBAL_ASSIGN(request.sizes, sizes_of(flags.sizes, cluster));
  OMNIBAL_RETURN_IF_ERROR(plan::micro_batches_of(request));
  return request;
}

codec::Json given(const std::optional<std::int64_t>& size) {
  return size ? codec::Json(*size) : codec::Json(nullptr);
}

/// Sizes as they came out where one of them was left to --gpus; null where they are searched.
codec::Json sizes_json(const PlanFlags& flags, const cluster::ParallelSizes& sizes) {
  SizeFlags shown = flags.sizes;
  if (!sizes_are_open(flags.sizes)) {
    shown.tp = sizes.tp;
    shown.pp = sizes.pp;
    shown.dp = sizes.dp;
  }
  codec::Json json = {{"gpus", given(shown.gpus)},
                      {"tp", given(shown.tp)},
                      {"pp", given(shown.pp)},
                      {"dp", given(shown.dp)}};
  if (flags.sizes.hours) json["hours"] = *flags.sizes.hours;
  return json;
}

codec::Json options_json(const PlanFlags& flags, const cluster::ParallelSizes& sizes) {
  codec::Json json = to_json(flags.corpus);
  json.update(to_json(flags.packing));
  json["method"] = flags.method;
  json.update(to_json(flags.steps));
  json["model"] = flags.model.model;
  json["cluster"] = flags.model.cluster;
  json["heads"] = flags.model.heads;
  json["freeze"] = flags.model.freeze;
  json.update(adapters_json(flags.model));
  if (flags.recompute_choices != "full") json["recompute_choices"] = flags.recompute_choices;
  json.update(sizes_json(flags, sizes));
  json["global_batch"] = flags.global_batch;
  json["schedule"] = flags.schedule;
  if (flags.chunks) json["chunks"] = *flags.chunks;
  json["layout"] = flags.layout;
  json["links"] = flags.links;
  if (!flags.profile.empty()) json["profile"] = flags.profile;
  if (flags.memory) json["memory"] = flags.memory->bytes;
  return json;
}

/// What was read beside the samples, with its hash: presets are no files.
Result<std::vector<corpus::InputFile>> configuration_files(const PlanFlags& flags) {
  std::vector<corpus::InputFile> files;
  for (const std::string& path : {flags.model.model, flags.model.cluster, flags.profile}) {
    if (!std::filesystem::is_regular_file(path)) continue;
    OMNIBAL_ASSIGN(const std::string hash, codec::hash_file(path));
    files.push_back({path, hash});
  }
  return files;
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

/// Sizes that were left open, filled in; nothing where they are given.
Result<std::optional<SizeSearch>> fill_sizes(const PlanFlags& flags, const PlanSubject& subject,
                                             const Context& context, plan::PlanRequest& request) {
  std::optional<SizeSearch> search;
  if (!sizes_are_open(flags.sizes)) return search;
  OMNIBAL_RETURN_IF_ERROR(ask_for_data(flags, subject.loaded.corpus, context, request));
  const plan::SizeTask task{.samples = plan::columns(subject.loaded.corpus),
                            .model = subject.model,
                            .cluster = subject.cluster,
                            .request = request,
                            .asked = {}};
  OMNIBAL_ASSIGN(search, search_sizes(flags.sizes, task, context));
  const plan::SizeCandidate& best = search->chosen().best();
  request.sizes = best.sizes;
  request.chosen_caps = best.caps;
  return search;
}

Result<Output> make_and_write(const PlanFlags& flags, const PlanSubject& subject,
                              plan::PlanRequest request, const plan::Provenance& provenance,
                              const Context& context) {
  const corpus::Corpus& corpus = subject.loaded.corpus;
  OMNIBAL_ASSIGN(const std::optional<SizeSearch> search,
                 fill_sizes(flags, subject, context, request));
  OMNIBAL_RETURN_IF_ERROR(ask_for_data(flags, corpus, context, request));
  Result<plan::Plan> made =
      plan::make_plan(corpus, subject.model, subject.cluster, request, context.progress);
  if (!made) return at_its_source(std::move(made).error(), corpus);
  const plan::Plan& plan = *made;
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
    if (kept) return *std::move(kept);
  }
  return make_and_write(flags, subject, std::move(request), provenance, context);
}

std::vector<Flag> resource_flags(PlanFlags& flags) {
  return {memory_flag(&flags.memory, "the cluster's less its reserve"),
          recompute_choices_flag(&flags.recompute_choices),
          {.name = "--links",
           .target = &flags.links,
           .help = "The prediction's transfers between stages; the ablation is always free of them",
           .choices = {"model", "free"}},
          {.name = "--profile",
           .target = &flags.profile,
           .help = "Measured layer costs to use instead of the analytic ones",
           .value_name = "FILE"},
          {.name = "--layout",
           .target = &flags.layout,
           .help = "Where the vision tower runs: its layers are pipeline layers",
           .choices = {"integrated"}}};
}

std::vector<Flag> parallel_flags(PlanFlags& flags) {
  return {{.name = "--global-batch",
           .target = &flags.global_batch,
           .help = "Samples a step, a pack standing for --micro-batch of them",
           .value_name = "N",
           .min = 1,
           .max = std::int64_t{1} << 30},
          schedule_flag(&flags.schedule, "Pipeline schedule"),
          chunks_flag(&flags.chunks)};
}

std::vector<Flag> plan_flags(PlanFlags& flags) {
  return joined(
      {corpus_flags(flags.corpus),
       model_flags(flags.model),
       size_flags(flags.sizes),
       resource_flags(flags),
       parallel_flags(flags),
       {{.name = "--method",
         .target = &flags.method,
         .help = "How samples are packed: the best of several packers, or one of them",
         .choices = pack::packer_names()}},
       packing_flags(flags.packing),
       step_flags(flags.steps),
       {{.name = "--explain", .target = &flags.explain, .help = "Show the stages too"},
        reuse_flag(&flags.reuse),
        {.name = "--dry-run", .target = &flags.dry_run, .help = "Plan and print, write nothing"},
        {.name = "--out",
         .target = &flags.out,
         .help = "The plan directory",
         .value_name = "DIR"}}});
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
