// SPDX-License-Identifier: Apache-2.0
//
// omnibal pack: the data part of a plan alone.
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "cli/command.h"
#include "cli/data_plan_text.h"
#include "cli/limits_text.h"
#include "cli/options/data_flags.h"
#include "cli/options/model_flags.h"
#include "cli/plan_reuse.h"
#include "cli/sample_place.h"
#include "omnibal/plan/comparison.h"
#include "omnibal/plan/data_plan.h"
#include "omnibal/plan/plan_directory.h"

namespace omnibal::cli {
namespace {

using codec::Json;

constexpr std::int64_t kUsualMicroBatches = 16;

struct PackFlags {
  CorpusFlags corpus;
  PackingFlags packing;
  std::string method = "auto";
  std::int64_t cp = 1;
  std::int64_t tp = 1;
  std::optional<std::int64_t> dp;
  std::int64_t micro_batches = kUsualMicroBatches;
  StepFlags steps;
  bool reuse = false;
  std::string out;
};

/// Nothing without --dp: packs are then not dealt into steps.
Result<std::optional<steps::StepOptions>> steps_of(const PackFlags& flags, const Context& context) {
  if (!flags.dp) return std::optional<steps::StepOptions>();
  OMNIBAL_ASSIGN(steps::StepOptions options, step_options(flags.steps, context.seed));
  options.dp = *flags.dp;
  options.micro_batches = flags.micro_batches;
  OMNIBAL_RETURN_IF_ERROR(steps::check_step_options(options));
  return std::optional(options);
}

/// What can be refused before the input is read.
Status check_before_reading(const PackFlags& flags, const Context& context) {
  OMNIBAL_RETURN_IF_ERROR(check_flags(flags.packing));
  const std::int64_t multiple = pack::token_multiple(flags.cp, flags.tp);
  if (multiple > flags.packing.token_cap.value_or(pack::kLargestCap)) {
    return Error(ErrorCode::kInvalidArgument,
                 "packs are padded to a multiple of lcm(2 cp, cp tp, 8), more than the token cap")
        .at_key("--cp, --tp")
        .with_value(multiple)
        .with_hint("lower --cp or --tp, or raise --token-cap");
  }
  OMNIBAL_RETURN_IF_ERROR(steps_of(flags, context));
  OMNIBAL_ASSIGN(const pack::Method method, pack::parse_method(flags.method));
  if (!flags.out.empty() && !pack::respects_caps(method)) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("{} pads its micro-batches and knows no caps: it makes no plan",
                             flags.method))
        .at_key("--method")
        .with_hint(
            "leave --out away to see its figures, or use a packer: isf, best-fit, "
            "first-fit, patterns or auto");
  }
  return {};
}

Result<plan::DataPlanOptions> options_of(const PackFlags& flags, const corpus::Corpus& corpus,
                                         const Context& context) {
  constexpr std::int64_t kUsualRanks = 8;
  const plan::CapQuestion caps =
      cap_question(flags.packing, pack::token_multiple(flags.cp, flags.tp));
  OMNIBAL_ASSIGN(plan::DataPlanOptions options,
                 data_plan_options(flags.packing, caps, corpus, context.seed));
  OMNIBAL_ASSIGN(options.method, pack::parse_method(flags.method));
  OMNIBAL_ASSIGN(options.steps, steps_of(flags, context));
  options.threads = context.threads;
  OMNIBAL_ASSIGN(options.activation_bytes, plan::activation_bytes_of(plan::kReferenceModel));
  options.worst_first = flags.steps.worst_first;
  OMNIBAL_RETURN_IF_ERROR(choose_open_caps(flags.packing, caps, corpus, plan::kReferenceModel,
                                           flags.dp.value_or(kUsualRanks), context, options));
  return options;
}

/// The flags as far as they decide the plan's content.
Json options_json(const PackFlags& flags) {
  Json json = to_json(flags.corpus);
  json.update(to_json(flags.packing));
  json["method"] = flags.method;
  json["cp"] = flags.cp;
  json["tp"] = flags.tp;
  if (!flags.dp) return json;
  json["dp"] = *flags.dp;
  json["micro_batches"] = flags.micro_batches;
  json.update(to_json(flags.steps));
  return json;
}

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

struct TimedDataPlan {
  plan::DataPlan data;
  double pack_seconds = 0;  // steps included
  double step_seconds = 0;
};

Result<TimedDataPlan> timed_data_plan(const corpus::Corpus& corpus,
                                      const plan::DataPlanOptions& options,
                                      const cost::LinearCost& forward, const Progress& progress) {
  TimedDataPlan timed;
  const auto began = std::chrono::steady_clock::now();
  OMNIBAL_ASSIGN(timed.data, plan::pack_corpus(corpus, options, forward, progress));
  timed.pack_seconds = seconds_since(began);
  if (!options.steps) return timed;
  const auto packed = std::chrono::steady_clock::now();
  OMNIBAL_RETURN_IF_ERROR(plan::add_steps(timed.data, options, forward, progress));
  timed.step_seconds = seconds_since(packed);
  timed.pack_seconds += timed.step_seconds;
  OMNIBAL_RETURN_IF_ERROR(plan::describe_steps(timed.data, corpus, options));
  return timed;
}

Result<Output> run_pack(const PackFlags& flags, const Context& context) {
  OMNIBAL_RETURN_IF_ERROR(check_before_reading(flags, context));
  if (!flags.dp && (flags.steps != StepFlags{} || flags.micro_batches != kUsualMicroBatches)) {
    context.warn("without --dp no steps are formed: what is said about them decides nothing");
  }
  OMNIBAL_ASSIGN(const cost::LinearCost forward, plan::forward_of(plan::kReferenceModel));
  OMNIBAL_ASSIGN(const corpus::LoadedCorpus loaded, load_corpus(flags.corpus, context));
  const plan::Provenance provenance{
      .options = options_json(flags), .inputs = loaded.inputs, .seed = context.seed};
  if (flags.reuse) {
    OMNIBAL_ASSIGN(std::optional<Output> kept, keep_plan(flags.out, provenance, context));
    if (kept) {
      kept->json["pack_seconds"] = 0.0;
      return *std::move(kept);
    }
  }
  const Result<plan::DataPlanOptions> options = options_of(flags, loaded.corpus, context);
  if (!options) return at_its_source(options.error(), loaded.corpus);
  Result<TimedDataPlan> timed = timed_data_plan(loaded.corpus, *options, forward, context.progress);
  if (!timed) return at_its_source(std::move(timed).error(), loaded.corpus);
  Output output;
  output.json = plan::to_json(timed->data, loaded.corpus, *options);
  if (!flags.out.empty()) {
    OMNIBAL_RETURN_IF_ERROR(plan::write_plan({.corpus = loaded.corpus,
                                              .data = timed->data,
                                              .provenance = provenance,
                                              .document = output.json,
                                              .threads = context.threads},
                                             flags.out));
  }
  output.json["pack_seconds"] = timed->pack_seconds;
  if (options->steps) output.json["step_seconds"] = timed->step_seconds;
  if (options->choice) output.text = to_text(*options->choice) + '\n';
  output.text += to_text(timed->data, *options, output.json, loaded.corpus);
  if (!flags.out.empty()) output.text += fmt::format("written to {}\n", flags.out);
  return output;
}

std::vector<Flag> parallel_flags(PackFlags& flags) {
  return joined({padding_flags(&flags.cp, &flags.tp),
                 {{.name = "--dp",
                   .target = &flags.dp,
                   .help = "Data-parallel ranks; packs are dealt into steps only if it is given",
                   .value_name = "N",
                   .min = 1,
                   .max = steps::kLargestStep},
                  micro_batches_flag(&flags.micro_batches)}});
}

std::vector<Flag> pack_flags(PackFlags& flags) {
  return joined(
      {corpus_flags(flags.corpus),
       {{.name = "--method",
         .target = &flags.method,
         .help = "How samples are grouped: by the best of several packers, by one of them "
                 "(isf is the paper's), or by a padded baseline to compare with",
         .choices = pack::method_names()}},
       packing_flags(flags.packing),
       parallel_flags(flags),
       step_flags(flags.steps),
       {reuse_flag(&flags.reuse),
        {.name = "--out",
         .target = &flags.out,
         .help = "The plan directory to write; without, figures alone are printed",
         .value_name = "DIR"}}});
}

}  // namespace

Command make_pack_command() {
  auto flags = std::make_shared<PackFlags>();
  return {.name = "pack",
          .summary = "Group samples into packs under hard caps, and packs into even steps",
          .description =
              "Groups samples so that no pack passes the caps on vision units and tokens, each "
              "sample in exactly one pack or rejected with a reason. With --dp the packs are "
              "dealt into steps whose ranks carry nearly equal loads; the time of a pack is "
              "predicted for internvl-chat-1.5-26b. Caps that are not given are those with which "
              "its training on 8 A100 a data-parallel rank is predicted to take least.",
          .example =
              "omnibal pack corpus/ --vision-cap 9 --token-cap 4096\n"
              "omnibal pack lengths.json --dp 8 --micro-batches 32 --out data-plan/\n"
              "omnibal pack ai2d=ai2d.json chart=chartqa.json --method device-group --dp 8 --json",
          .flags = pack_flags(*flags),
          .run = [flags](const Context& context) { return run_pack(*flags, context); }};
}

}  // namespace omnibal::cli
