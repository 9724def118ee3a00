// SPDX-License-Identifier: Apache-2.0
#include "cli/options/data_flags.h"

#include <fmt/format.h>

#include "omnibal/pack/limits.h"

namespace omnibal::cli {
namespace {

void warn_of_findings(const corpus::LoadedCorpus& loaded, const Context& context) {
  for (const corpus::Finding& finding : loaded.findings) {
    context.warn(fmt::format("{} x {}, first: {}", finding.count, finding.kind, finding.example));
  }
}

/// Sets the caps and who chose them.
Status set_caps(const plan::CapQuestion& caps, const corpus::Corpus& corpus,
                plan::DataPlanOptions& options) {
  if (caps.vision_cap && caps.token_cap) {
    options.limits = caps.rules.at(*caps.vision_cap, *caps.token_cap);
    return {};
  }
  options.caps_by = plan::CapSource::kPaper;
  OMNIBAL_ASSIGN(options.limits,
                 pack::paper_limits(plan::columns(corpus), {.token_cap = caps.token_cap,
                                                            .vision_cap = caps.vision_cap,
                                                            .micro_batch = options.micro_batch,
                                                            .rules = caps.rules,
                                                            .seed = options.seed}));
  return {};
}

/// The user asked for no training, and can change none of it.
Error with_cap_hint(Error error, const std::string& model) {
  if (error.code != ErrorCode::kMemoryInfeasible) return error;
  return std::move(error).with_hint(
      fmt::format("give --vision-cap and --token-cap: without, they are chosen for the training "
                  "of {} on 8 A100 a data-parallel rank",
                  model));
}

std::vector<Flag> cap_flags(PackingFlags& flags) {
  return {{.name = "--vision-cap",
           .target = &flags.vision_cap,
           .help = "Most vision units of a pack (the paper's Q_v)",
           .value_name = "N",
           .min = 1,
           .max = pack::kLargestCap},
          {.name = "--token-cap",
           .target = &flags.token_cap,
           .help = "Most tokens of a pack (Q_t)",
           .value_name = "N",
           .min = 1,
           .max = pack::kLargestCap},
          {.name = "--vision-floor",
           .target = &flags.vision_floor,
           .help = "Vision units from which a pack is final (Q'_v) [default: --vision-cap]",
           .value_name = "N",
           .min = 0},
          {.name = "--token-floor",
           .target = &flags.token_floor,
           .help = "Tokens from which a pack is final (Q'_t) [default: --token-cap less 128]",
           .value_name = "N",
           .min = 0},
          {.name = "--limits",
           .target = &flags.limits,
           .help = "How caps that are not given are chosen: for the least predicted time of a step "
                   "that fits in memory, or as the paper's authors do, from the mean ratio of "
                   "tokens to vision units",
           .choices = {"auto", "paper"}}};
}

}  // namespace

std::vector<Flag> corpus_flags(CorpusFlags& flags) {
  return {{.name = "INPUT",
           .target = &flags.inputs,
           .help = "A corpus directory, a length list, a wrapper or JSON Lines; - for stdin; "
                   "name=path names the source; several are several sources",
           .required = true},
          {.name = "--dummy",
           .target = &flags.dummy,
           .help = "Give a text-only sample without vision units a blank one"},
          {.name = "--strict", .target = &flags.strict, .help = "Treat lint warnings as errors"},
          {.name = "--weights",
           .target = &flags.weights,
           .help = "Shares of the epoch by source, in place of a wrapper's weights; sources not "
                   "named have their own, or 1",
           .value_name = "NAME=W,..."},
          {.name = "--temperature",
           .target = &flags.temperature,
           .help = "Shares also follow the sources' sizes to the power of 1/T: 1 keeps the sizes, "
                   "larger is more even",
           .value_name = "T"},
          {.name = "--epoch-samples",
           .target = &flags.epoch_samples,
           .help = "Samples of an epoch, in the sources' shares [default: all rows times their "
                   "source's repeat]",
           .value_name = "N",
           .min = 1,
           .max = INT32_MAX}};
}

Result<corpus::MixtureOptions> mixture_of(const CorpusFlags& flags, std::uint64_t seed) {
  corpus::MixtureOptions mixture{
      .temperature = flags.temperature, .epoch_samples = flags.epoch_samples, .seed = seed};
  for (const std::string& text : flags.weights) {
    OMNIBAL_ASSIGN(corpus::SourceWeight weight, corpus::parse_source_weight(text));
    mixture.weights.push_back(std::move(weight));
  }
  return mixture;
}

Result<corpus::LoadedCorpus> load_corpus(const CorpusFlags& flags, const Context& context) {
  std::vector<corpus::Input> inputs;
  for (const std::string& text : flags.inputs) inputs.push_back(corpus::parse_input(text));
  OMNIBAL_ASSIGN(corpus::MixtureOptions mixture, mixture_of(flags, context.seed));
  OMNIBAL_ASSIGN(
      corpus::LoadedCorpus loaded,
      corpus::read_corpus(
          inputs, {.add_dummy = flags.dummy, .strict = flags.strict, .mixture = std::move(mixture)},
          context.progress));
  warn_of_findings(loaded, context);
  return loaded;
}

std::vector<Flag> packing_flags(PackingFlags& flags) {
  return joined(
      {cap_flags(flags),
       {{.name = "--rounds",
         .target = &flags.rounds,
         .help = "Rounds of sampling and filtering (T); the last does not filter",
         .value_name = "N",
         .min = 1,
         .max = 1000000},
        {.name = "--over-long",
         .target = &flags.over_long,
         .help = "A sample above a cap is left out and listed, ends the command, or has "
                 "its text cut where media and supervised tokens stay",
         .choices = pack::over_long_names()},
        {.name = "--allow-empty",
         .target = &flags.allow_empty,
         .help = "Pack samples of 0 tokens too"},
        {.name = "--max-samples",
         .target = &flags.max_samples,
         .help = "Most samples of a pack [default: no limit; with --allow-empty, as "
                 "many as the token cap has tokens]",
         .value_name = "N",
         .min = 1},
        {.name = "--micro-batch",
         .target = &flags.micro_batch,
         .help = "Samples of a padded micro-batch, which a pack replaces; with --limits paper "
                 "packs hold as many",
         .value_name = "N",
         .min = 1,
         .max = 1 << 20}}});
}

std::vector<Flag> padding_flags(std::int64_t* cp, std::int64_t* tp) {
  constexpr std::int64_t kMost = 4096;
  return {{.name = "--cp",
           .target = cp,
           .help = "Context-parallel size; with --tp it sets what packs are padded to inside the "
                   "token cap",
           .value_name = "N",
           .min = 1,
           .max = kMost},
          {.name = "--tp",
           .target = tp,
           .help = "Tensor-parallel size with sequence parallelism",
           .value_name = "N",
           .min = 1,
           .max = kMost}};
}

Flag window_flag(std::int64_t* window) {
  return {.name = "--window",
          .target = window,
          .help =
              "Groups of dp packs that may wait for their like when steps are formed, 0 for "
              "the whole epoch",
          .value_name = "N",
          .min = 0};
}

std::vector<Flag> step_flags(StepFlags& flags) {
  return {
      window_flag(&flags.window),
      {.name = "--tail",
       .target = &flags.tail,
       .help = "What fills the last step: packs of zero weight, nothing (the packs are left "
               "out), or packs that run again",
       .choices = {"zero-weight", "drop", "repeat"}},
      {.name = "--worst-first",
       .target = &flags.worst_first,
       .help = "Run the pack that keeps most memory in the first micro-batch of the first step, "
               "so that a run that cannot hold it fails at once"}};
}

Result<steps::StepOptions> step_options(const StepFlags& flags, std::uint64_t seed) {
  steps::StepOptions options{.window = flags.window, .seed = seed};
  OMNIBAL_ASSIGN(options.tail, steps::parse_tail(flags.tail));
  return options;
}

Status check_flags(const PackingFlags& flags) {
  return pack::check_limits(
      cap_question(flags).rules.at(flags.vision_cap.value_or(1), flags.token_cap.value_or(1)));
}

plan::CapQuestion cap_question(const PackingFlags& flags, std::int64_t token_multiple) {
  return {.vision_cap = flags.vision_cap,
          .token_cap = flags.token_cap,
          .rules = {.vision_floor = flags.vision_floor,
                    .token_floor = flags.token_floor,
                    .rounds = flags.rounds,
                    .max_samples = flags.max_samples,
                    .allow_empty = flags.allow_empty,
                    .token_multiple = token_multiple}};
}

bool caps_are_open(const PackingFlags& flags) {
  return flags.limits == "auto" && !(flags.vision_cap && flags.token_cap);
}

Result<plan::DataPlanOptions> data_plan_options(const PackingFlags& flags,
                                                const plan::CapQuestion& caps,
                                                const corpus::Corpus& corpus, std::uint64_t seed) {
  plan::DataPlanOptions options;
  OMNIBAL_ASSIGN(options.admission.over_long, pack::parse_over_long(flags.over_long));
  options.admission.allow_empty = flags.allow_empty;
  options.micro_batch = flags.micro_batch;
  options.seed = seed;
  if (!caps_are_open(flags)) OMNIBAL_RETURN_IF_ERROR(set_caps(caps, corpus, options));
  return options;
}

Status choose_open_caps(const PackingFlags& flags, const plan::CapQuestion& caps,
                        const corpus::Corpus& corpus, const std::string& model, std::int64_t dp,
                        const Context& context, plan::DataPlanOptions& options) {
  if (!caps_are_open(flags)) return {};
  OMNIBAL_ASSIGN(const plan::TrainingTarget target, plan::reference_target(model, dp));
  plan::LimitTask task{.samples = plan::columns(corpus),
                       .target = target,
                       .asked = caps,
                       .method = options.method,
                       .micro_batch = flags.micro_batch,
                       .seed = context.seed,
                       .threads = context.threads};
  if (options.steps) task.window = options.steps->window;
  Result<plan::LimitChoice> choice = plan::choose_limits(task, context.progress);
  if (!choice) return with_cap_hint(std::move(choice).error(), model);
  options.choice = *std::move(choice);
  options.limits = options.choice->limits;
  options.caps_by = plan::CapSource::kAuto;
  return {};
}

codec::Json to_json(const CorpusFlags& flags) {
  codec::Json json = {{"input", flags.inputs}, {"dummy", flags.dummy}};
  if (!flags.weights.empty()) json["weights"] = flags.weights;
  if (flags.temperature) json["temperature"] = *flags.temperature;
  if (flags.epoch_samples) json["epoch_samples"] = *flags.epoch_samples;
  return json;
}

codec::Json to_json(const PackingFlags& flags) {
  codec::Json json = {{"rounds", flags.rounds},
                      {"limits", flags.limits},
                      {"over_long", flags.over_long},
                      {"allow_empty", flags.allow_empty},
                      {"micro_batch", flags.micro_batch}};
  const auto add = [&json](const char* key, const std::optional<std::int64_t>& value) {
    if (value) json[key] = *value;
  };
  add("vision_cap", flags.vision_cap);
  add("token_cap", flags.token_cap);
  add("vision_floor", flags.vision_floor);
  add("token_floor", flags.token_floor);
  add("max_samples", flags.max_samples);
  return json;
}

codec::Json to_json(const StepFlags& flags) {
  return {{"window", flags.window}, {"tail", flags.tail}, {"worst_first", flags.worst_first}};
}

}  // namespace omnibal::cli
