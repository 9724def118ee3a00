// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_flags.h"

#include <filesystem>

#include "cli/plan_diff_text.h"
#include "cli/plan_reuse.h"
#include "omnibal/codec/hash.h"
#include "omnibal/pack/method.h"

namespace omnibal::cli {
namespace {

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

std::vector<Flag> resource_flags(PlanFlags& flags) {
  return {
      memory_flag(&flags.memory, "the cluster's less its reserve"),
      recompute_choices_flag(&flags.recompute_choices),
      {.name = "--links",
       .target = &flags.links,
       .help = "Transfers, reduction of gradients and optimizer in the prediction; the ablation is "
               "always free of them",
       .choices = {"model", "free"}},
      {.name = "--zero3",
       .target = &flags.zero3,
       .help = "Predict the same corpus on ZeRO-3 too, each device a data-parallel rank at so "
               "many TFLOP/s, at most its peak, collectives included",
       .value_name = "TFLOPS",
       .above = 0},
      {.name = "--profile",
       .target = &flags.profile,
       .help = "Measured layer costs to use instead of the analytic ones",
       .value_name = "FILE"},
      {.name = "--layout",
       .target = &flags.layout,
       .help =
           "Where the vision tower runs. A plan is integrated: its layers are pipeline layers; the "
           "others are predicted beside it, on the devices of the language pipeline (colocated) "
           "or on some of their own (disjoint), auto: both",
       .choices = {"integrated", "colocated", "disjoint", "auto"}}};
}

std::vector<Flag> parallel_flags(PlanFlags& flags) {
  return {{.name = "--global-batch",
           .target = &flags.global_batch,
           .help = "Samples a step, a pack standing for --micro-batch of them",
           .value_name = "N",
           .min = 1,
           .max = std::int64_t{1} << 30},
          schedule_flag(&flags.schedule, "Pipeline schedule; without, the fastest is searched"),
          chunks_flag(&flags.chunks)};
}

}  // namespace

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
  json["schedule"] = flags.schedule.empty() ? codec::Json(nullptr) : codec::Json(flags.schedule);
  if (flags.chunks) json["chunks"] = *flags.chunks;
  json["layout"] = flags.layout;
  json["links"] = flags.links;
  if (flags.zero3) json["zero3"] = *flags.zero3;
  if (!flags.profile.empty()) json["profile"] = flags.profile;
  if (flags.memory) json["memory"] = flags.memory->bytes;
  return json;
}

Result<std::vector<corpus::InputFile>> configuration_files(const PlanFlags& flags) {
  std::vector<corpus::InputFile> files;
  for (const std::string& path : {flags.model.model, flags.model.cluster, flags.profile}) {
    if (!std::filesystem::is_regular_file(path)) continue;
    OMNIBAL_ASSIGN(const std::string hash, codec::hash_file(path));
    files.push_back({path, hash});
  }
  return files;
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
       {{.name = "--explain",
         .target = &flags.explain,
         .help = "Show stages, reasons and sensitivity"},
        diff_flag(&flags.diff),
        reuse_flag(&flags.reuse),
        {.name = "--dry-run", .target = &flags.dry_run, .help = "Plan and print, write nothing"},
        {.name = "--out", .target = &flags.out, .help = "The plan", .value_name = "DIR"}}});
}

}  // namespace omnibal::cli
