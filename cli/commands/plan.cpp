// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/options/data_flags.h"
#include "cli/options/model_flags.h"
#include "cli/plan_reuse.h"
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
  std::int64_t gpus = 0;
  std::optional<std::int64_t> tp, pp, dp;
  std::int64_t global_batch = 1024;
  std::string schedule = "1f1b";
  std::optional<ByteSize> memory;
  std::string profile;
  StepFlags steps;
  std::string layout = "integrated";
  std::string links = "model";
  bool zero3 = false;
  bool explain = false;
  bool reuse = false;
  bool dry_run = false;
  std::string out;
};

/// Sizes as given; one that is absent follows from the others and the number of GPUs.
Result<cluster::ParallelSizes> sizes_of(const PlanFlags& flags,
                                        const cluster::ClusterSpec& cluster) {
  const int given = (flags.tp ? 1 : 0) + (flags.pp ? 1 : 0) + (flags.dp ? 1 : 0);
  if (given < 2) {
    return Error(ErrorCode::kInvalidArgument, "two of --tp, --pp and --dp are needed")
        .with_hint("for example --tp 2 --pp 4: --dp then follows from --gpus");
  }
  cluster::ParallelSizes sizes{flags.tp.value_or(1), flags.pp.value_or(1), flags.dp.value_or(1)};
  const std::int64_t missing = std::max<std::int64_t>(1, flags.gpus / sizes.gpus());
  if (!flags.tp) sizes.tp = missing;
  if (!flags.pp) sizes.pp = missing;
  if (!flags.dp) sizes.dp = missing;
  OMNIBAL_RETURN_IF_ERROR(cluster::check_sizes(sizes, flags.gpus, cluster));
  return sizes;
}

Result<plan::PlanRequest> request_of(const PlanFlags& flags, const cluster::ClusterSpec& cluster,
                                     const Context& context) {
  plan::PlanRequest request;
  OMNIBAL_ASSIGN(request.sizes, sizes_of(flags, cluster));
  request.global_batch = flags.global_batch;
  request.micro_batch = flags.packing.micro_batch;
  OMNIBAL_ASSIGN(request.schedule, schedule::parse_schedule_kind(flags.schedule));
  if (flags.memory) request.memory_bytes = flags.memory->bytes;
  if (!flags.profile.empty()) {
    OMNIBAL_ASSIGN(request.profile, cost::read_profile(flags.profile));
  }
  request.heads = head_policy(flags.model);
  request.free_links = flags.links == "free";
  request.zero3 = flags.zero3;
  request.threads = context.threads;
  OMNIBAL_RETURN_IF_ERROR(plan::micro_batches_of(request));
  return request;
}

/// Sizes as they came out: one of them may have been left to --gpus.
codec::Json options_json(const PlanFlags& flags, const cluster::ParallelSizes& sizes) {
  codec::Json json = to_json(flags.corpus);
  json.update(to_json(flags.packing));
  json["method"] = flags.method;
  json.update(to_json(flags.steps));
  json["model"] = flags.model.model;
  json["cluster"] = flags.model.cluster;
  json["heads"] = flags.model.heads;
  json["freeze"] = flags.model.freeze;
  json["gpus"] = flags.gpus;
  json["tp"] = sizes.tp;
  json["pp"] = sizes.pp;
  json["dp"] = sizes.dp;
  json["global_batch"] = flags.global_batch;
  json["schedule"] = flags.schedule;
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

Result<Output> make_and_write(const PlanFlags& flags, const PlanSubject& subject,
                              plan::PlanRequest request, const plan::Provenance& provenance,
                              const Context& context) {
  const corpus::Corpus& corpus = subject.loaded.corpus;
  const plan::CapQuestion caps =
      cap_question(flags.packing, pack::token_multiple(1, request.sizes.tp));
  OMNIBAL_ASSIGN(request.data, data_plan_options(flags.packing, caps, corpus, context.seed));
  OMNIBAL_ASSIGN(request.data.method, pack::parse_method(flags.method));
  if (caps_are_open(flags.packing)) request.caps = caps;
  OMNIBAL_ASSIGN(request.data.steps, step_options(flags.steps, context.seed));
  request.data.worst_first = flags.steps.worst_first;
  Result<plan::Plan> made =
      plan::make_plan(corpus, subject.model, subject.cluster, request, context.progress);
  if (!made) return at_its_source(std::move(made).error(), corpus);
  const plan::Plan& plan = *made;
  codec::Json keys = plan::to_json(plan, corpus);
  std::string text = to_text(plan, flags.explain);
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
  return {
      {.name = "--gpus",
       .target = &flags.gpus,
       .help = "Devices of the cluster to use",
       .value_name = "N",
       .min = 1,
       .max = kMostDevices,
       .required = true},
      memory_flag(&flags.memory, "the cluster's less its reserve"),
      {.name = "--links",
       .target = &flags.links,
       .help = "The prediction's transfers, reduction of gradients and optimizer; the ablation is "
               "always free of them",
       .choices = {"model", "free"}},
      {.name = "--zero3",
       .target = &flags.zero3,
       .help = "Predict the same corpus on ZeRO-3 too: every device a data-parallel rank"},
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
  return {{.name = "--tp",
           .target = &flags.tp,
           .help = "Tensor-parallel size",
           .value_name = "N",
           .min = 1,
           .max = kMostDevices},
          {.name = "--pp",
           .target = &flags.pp,
           .help = "Pipeline stages",
           .value_name = "N",
           .min = 1,
           .max = kMostDevices},
          {.name = "--dp",
           .target = &flags.dp,
           .help = "Data-parallel size; one of --tp, --pp and --dp may be left to --gpus",
           .value_name = "N",
           .min = 1,
           .max = kMostDevices},
          {.name = "--global-batch",
           .target = &flags.global_batch,
           .help = "Samples a step, a pack standing for --micro-batch of them",
           .value_name = "N",
           .min = 1,
           .max = std::int64_t{1} << 30},
          schedule_flag(&flags.schedule, "Pipeline schedule")};
}

std::vector<Flag> plan_flags(PlanFlags& flags) {
  return joined(
      {corpus_flags(flags.corpus),
       model_flags(flags.model),
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
