// SPDX-License-Identifier: Apache-2.0
//
// omnibal compare: methods side by side, as the paper's table 3.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "cli/command.h"
#include "cli/options/data_flags.h"
#include "cli/predicted_time.h"
#include "cli/sample_place.h"
#include "cli/text_table.h"
#include "omnibal/metrics/balance.h"
#include "omnibal/pack/method.h"
#include "omnibal/steps/step_summary.h"
#include "omnibal/steps/step_table.h"

namespace omnibal::cli {
namespace {

using codec::Json;

/// ISF packs in steps of groups alike; every other row is a packing method by its own name.
constexpr const char* kOurs = "omnibal";

struct CompareFlags {
  CorpusFlags corpus;
  PackingFlags packing;
  std::int64_t dp = 8;
  std::vector<std::string> methods;
  std::string model = kDefaultModel;
};

/// What every row is measured on.
struct Comparison {
  metrics::SampleColumns samples;
  std::vector<std::uint32_t> accepted;
  pack::GroupingRequest request;
  steps::StepOptions steps;
  cost::LinearCost forward;
};

struct Row {
  std::string method;
  std::int64_t packs = 0;
  double pad_ratio = 0;
  metrics::DistRatios dist;
  metrics::Fill fill;
  double pack_seconds = 0;
};

std::vector<std::string> always_compared() {
  return {"random", "sorted", "device-group", "isf", kOurs};
}

/// The five, with what --methods adds before ours; all there are if nothing is added.
Result<std::vector<std::string>> methods_to_compare(const std::vector<std::string>& asked) {
  std::vector<std::string> methods = always_compared();
  for (const std::string& name : asked.empty() ? pack::method_names() : asked) {
    if (std::ranges::find(methods, name) != methods.end()) continue;
    OMNIBAL_ASSIGN(const pack::Method method, pack::parse_method(name));
    methods.insert(methods.end() - 1, std::string(pack::to_string(method)));
  }
  return methods;
}

/// Which rank runs which micro-batch: as the baseline deals; packs in random order; ours in steps.
Result<steps::StepTable> deal(const std::string& name, const pack::Grouping& grouping,
                              const std::vector<metrics::PackLoad>& loads,
                              const steps::StepOptions& options) {
  if (name == kOurs) return steps::form_steps(loads, options);
  if (!grouping.padded) return steps::deal_randomly(grouping.packs.size(), options);
  steps::StepTable table;
  table.dp = options.dp;
  table.pack_ids = grouping.grid;
  return table;
}

Result<Row> measure(const std::string& name, const Comparison& comparison,
                    const Progress& progress) {
  OMNIBAL_ASSIGN(const pack::Method method, pack::parse_method(name == kOurs ? "isf" : name));
  const auto began = std::chrono::steady_clock::now();
  const pack::Grouping grouping = pack::group_samples(
      method, comparison.samples, comparison.accepted, comparison.request, progress);
  const std::vector<metrics::PackLoad> loads = grouping.loads(comparison.samples);
  OMNIBAL_ASSIGN(const steps::StepTable table, deal(name, grouping, loads, comparison.steps));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  Row row;
  row.method = name;
  row.packs = grouping.packs.size();
  row.pad_ratio = grouping.pad_ratio(comparison.samples, 1);
  row.dist = metrics::dist_ratios(table.grid(), loads, comparison.forward);
  row.fill = metrics::fill(metrics::packed_loads(grouping.packs.view(), comparison.samples),
                           comparison.request.limits.caps());
  row.pack_seconds = seconds.count();
  return row;
}

Json to_json(const Row& row) {
  return {{"method", row.method},
          {"packs", row.packs},
          {"pad_ratio", row.pad_ratio},
          {"dist_ratio", steps::to_json(row.dist)},
          {"fill", {{"vision", row.fill.vision}, {"tokens", row.fill.tokens}}},
          {"pack_seconds", row.pack_seconds}};
}

std::string table_of(const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> lines = {{"method", "packs", "padding", "vision", "tokens",
                                                  "attention", "time", "vision fill", "token fill",
                                                  "seconds"}};
  const auto ratio = [](double value) { return fmt::format("{:.4f}", value); };
  for (const Row& row : rows) {
    lines.push_back({row.method, fmt::format("{}", row.packs), ratio(row.pad_ratio),
                     ratio(row.dist.vision), ratio(row.dist.tokens), ratio(row.dist.attention),
                     ratio(row.dist.time), fmt::format("{:.3f}", row.fill.vision),
                     fmt::format("{:.3f}", row.fill.tokens),
                     fmt::format("{:.2f}", row.pack_seconds)});
  }
  return text_table(lines);
}

Result<Comparison> prepare(const CompareFlags& flags, const corpus::Corpus& corpus,
                           const Context& context) {
  OMNIBAL_ASSIGN(const plan::DataPlanOptions options,
                 data_plan_options(flags.packing, corpus, context.seed));
  Comparison comparison;
  comparison.samples = plan::columns(corpus);
  auto admission = pack::admit(comparison.samples, options.limits, options.admission);
  if (!admission) return at_its_source(std::move(admission).error(), corpus);
  comparison.accepted = std::move(admission->accepted);
  comparison.request = {.limits = options.limits,
                        .micro_batches = {.size = flags.packing.micro_batch, .dp = flags.dp},
                        .seed = context.seed};
  comparison.steps = {.dp = flags.dp, .micro_batches = 1, .seed = context.seed};
  return comparison;
}

std::string to_text(const CompareFlags& flags, const Comparison& comparison,
                    const std::vector<Row>& rows) {
  const pack::PackLimits& limits = comparison.request.limits;
  return fmt::format(
             "{} samples on {} ranks; packs of at most {} vision units and {} tokens, padded "
             "micro-batches of {} samples\n"
             "padding and imbalance between ranks as fractions; time predicted for {}\n\n",
             comparison.accepted.size(), flags.dp, limits.vision_cap, limits.token_cap,
             flags.packing.micro_batch, flags.model) +
         table_of(rows);
}

Result<Output> run_compare(const CompareFlags& flags, const Context& context) {
  OMNIBAL_RETURN_IF_ERROR(check_flags(flags.packing));
  OMNIBAL_ASSIGN(const std::vector<std::string> methods, methods_to_compare(flags.methods));
  OMNIBAL_ASSIGN(const cost::LinearCost forward, predicted_forward(flags.model));
  OMNIBAL_ASSIGN(const corpus::LoadedCorpus loaded, load_corpus(flags.corpus, context));
  OMNIBAL_ASSIGN(Comparison comparison, prepare(flags, loaded.corpus, context));
  comparison.forward = forward;
  std::vector<Row> rows;
  Json rows_json = Json::array();
  for (const std::string& name : methods) {
    OMNIBAL_ASSIGN(const Row row, measure(name, comparison, context.progress));
    rows.push_back(row);
    rows_json.push_back(to_json(row));
  }
  Output output;
  output.json = {{"dp", flags.dp}, {"micro_batch", flags.packing.micro_batch}, {"rows", rows_json}};
  output.text = to_text(flags, comparison, rows);
  return output;
}

std::vector<Flag> compare_flags(CompareFlags& flags) {
  return joined({corpus_flags(flags.corpus),
                 {{.name = "--dp",
                   .target = &flags.dp,
                   .help = "Data-parallel ranks",
                   .value_name = "N",
                   .min = 1,
                   .max = 1 << 20},
                  {.name = "--methods",
                   .target = &flags.methods,
                   .help = "Methods to show beside random, sorted, device-group, isf and omnibal; "
                           "without, all there are",
                   .value_name = "NAME,..."},
                  {.name = "--model",
                   .target = &flags.model,
                   .help = "Model whose forward time is predicted: a preset, a pair VISION+LLM, "
                           "or the path of a Hugging Face config.json",
                   .value_name = "NAME"}},
                 packing_flags(flags.packing)});
}

}  // namespace

Command make_compare_command() {
  auto flags = std::make_shared<CompareFlags>();
  return {.name = "compare",
          .summary = "Compare methods of forming micro-batches on one corpus",
          .description =
              "Forms micro-batches by every method and shows padding, imbalance between "
              "data-parallel ranks (vision units, tokens, attention, predicted time), fill and "
              "seconds: the paper's table 3. isf is the paper's packing in random order, omnibal "
              "the same packs in steps whose ranks are alike.",
          .example =
              "omnibal compare corpus/ --dp 8 --micro-batch 4\n"
              "omnibal compare lengths.json --dp 64 --vision-cap 9 --token-cap 4096 "
              "--methods length-grouped --model internvit-300m+qwen2.5-0.5b",
          .flags = compare_flags(*flags),
          .run = [flags](const Context& context) { return run_compare(*flags, context); }};
}

}  // namespace omnibal::cli
