// SPDX-License-Identifier: Apache-2.0
//
// omnibal compare: methods side by side, as the paper's table 3.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/options/data_flags.h"
#include "cli/options/model_flags.h"
#include "cli/sample_place.h"
#include "cli/text_table.h"
#include "omnibal/plan/comparison.h"
#include "omnibal/steps/step_summary.h"

namespace omnibal::cli {
namespace {

using codec::Json;

struct CompareFlags {
  CorpusFlags corpus;
  PackingFlags packing;
  std::int64_t dp = 8;
  std::vector<std::string> methods;
  std::string model = plan::kReferenceModel;
  std::int64_t window = steps::StepOptions{}.window;
  bool scaling = false;
};

/// Ranks that --scaling deals to.
constexpr std::array<std::int64_t, 8> kScalingRanks = {8, 16, 32, 64, 128, 256, 512, 1024};

struct Row {
  std::string method;
  plan::MethodFigures figures;
  double pack_seconds = 0;
  std::vector<std::optional<metrics::DistRatios>> scaling;  // by kScalingRanks, if asked for
};

Result<Row> measure(const std::string& name, const CompareFlags& flags,
                    const plan::ComparisonTask& task, const Progress& progress) {
  const auto began = std::chrono::steady_clock::now();
  OMNIBAL_ASSIGN(const plan::DealtGrouping dealt, plan::deal_by_method(name, task, progress));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  Row row{name, plan::judge(dealt, task), seconds.count(), {}};
  if (!flags.scaling) return row;
  for (const std::int64_t dp : kScalingRanks) {
    OMNIBAL_ASSIGN(const auto imbalance, plan::imbalance_on(dp, name, dealt, task));
    row.scaling.push_back(imbalance);
  }
  return row;
}

Json to_json(const Row& row) {
  return {{"method", row.method},
          {"packs", row.figures.packs},
          {"pad_ratio", row.figures.pad_ratio},
          {"dist_ratio", steps::to_json(row.figures.dist)},
          {"fill", {{"vision", row.figures.fill.vision}, {"tokens", row.figures.fill.tokens}}},
          {"pack_seconds", row.pack_seconds}};
}

Json scaling_json(const std::vector<Row>& rows) {
  Json scaling = Json::array();
  for (std::size_t k = 0; k < kScalingRanks.size(); ++k) {
    for (const Row& row : rows) {
      if (!row.scaling[k]) continue;
      scaling.push_back({{"dp", kScalingRanks[k]},
                         {"method", row.method},
                         {"dist_ratio", steps::to_json(*row.scaling[k])}});
    }
  }
  return scaling;
}

/// A line a method and load, a column a number of ranks.
std::string scaling_text(const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> lines = {{"method", "load"}};
  for (const std::int64_t dp : kScalingRanks) lines[0].push_back(fmt::format("{}", dp));
  bool left_out = false;
  const auto add_line = [&](const Row& row, const char* load, double metrics::DistRatios::*ratio) {
    std::vector<std::string>& line = lines.emplace_back();
    line = {row.method, load};
    for (const std::optional<metrics::DistRatios>& dist : row.scaling) {
      left_out = left_out || !dist;
      line.push_back(dist ? fmt::format("{:.4f}", (*dist).*ratio) : "-");
    }
  };
  for (const Row& row : rows) {
    add_line(row, "vision", &metrics::DistRatios::vision);
    add_line(row, "tokens", &metrics::DistRatios::tokens);
    add_line(row, "attention", &metrics::DistRatios::attention);
    add_line(row, "time", &metrics::DistRatios::time);
  }
  return "\nimbalance by data-parallel ranks, same packs" +
         std::string(left_out ? " (-: fewer packs than ranks)" : "") + "\n\n" + text_table(lines);
}

std::string table_of(const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> lines = {{"method", "packs", "padding", "vision", "tokens",
                                                  "attention", "time", "vision fill", "token fill",
                                                  "seconds"}};
  const auto ratio = [](double value) { return fmt::format("{:.4f}", value); };
  for (const Row& row : rows) {
    lines.push_back({row.method, fmt::format("{}", row.figures.packs), ratio(row.figures.pad_ratio),
                     ratio(row.figures.dist.vision), ratio(row.figures.dist.tokens),
                     ratio(row.figures.dist.attention), ratio(row.figures.dist.time),
                     fmt::format("{:.3f}", row.figures.fill.vision),
                     fmt::format("{:.3f}", row.figures.fill.tokens),
                     fmt::format("{:.2f}", row.pack_seconds)});
  }
  return text_table(lines);
}

Result<plan::ComparisonTask> prepare(const CompareFlags& flags, const corpus::Corpus& corpus,
                                     const Context& context) {
  const plan::CapQuestion caps = cap_question(flags.packing);
  OMNIBAL_ASSIGN(plan::DataPlanOptions options,
                 data_plan_options(flags.packing, caps, corpus, context.seed));
  OMNIBAL_RETURN_IF_ERROR(
      choose_open_caps(flags.packing, caps, corpus, flags.model, flags.dp, context, options));
  plan::ComparisonTask task;
  task.samples = plan::columns(corpus);
  auto admission =
      pack::admit(task.samples, options.limits, options.admission, plan::cut_columns(corpus));
  if (!admission) return at_its_source(std::move(admission).error(), corpus);
  task.cut_tokens = pack::cut_column(corpus.tokens, admission->truncated, &pack::Truncation::to);
  if (!task.cut_tokens.empty()) task.samples.tokens = task.cut_tokens;
  task.accepted = std::move(admission->accepted);
  task.request = {.limits = options.limits,
                  .micro_batches = {.size = flags.packing.micro_batch, .dp = flags.dp},
                  .seed = context.seed,
                  .automatic = {.threads = context.threads}};
  task.steps = {.dp = flags.dp, .micro_batches = 1, .window = flags.window, .seed = context.seed};
  return task;
}

std::string to_text(const CompareFlags& flags, const plan::ComparisonTask& task,
                    const std::vector<Row>& rows) {
  const pack::PackLimits& limits = task.request.limits;
  const std::string window =
      flags.window == 0 ? "the whole epoch" : fmt::format("windows of {} groups", flags.window);
  return fmt::format(
             "{} samples on {} ranks; packs of at most {} vision units and {} tokens, padded "
             "micro-batches of {} samples; omnibal's steps formed in {}\n"
             "padding and imbalance between ranks as fractions; time predicted for {}\n\n",
             task.accepted.size(), flags.dp, limits.vision_cap, limits.token_cap,
             flags.packing.micro_batch, window, flags.model) +
         table_of(rows);
}

Result<Output> run_compare(const CompareFlags& flags, const Context& context) {
  OMNIBAL_RETURN_IF_ERROR(check_flags(flags.packing));
  OMNIBAL_ASSIGN(const std::vector<std::string> methods, plan::methods_to_compare(flags.methods));
  OMNIBAL_ASSIGN(const cost::LinearCost forward, plan::forward_of(flags.model));
  OMNIBAL_ASSIGN(const corpus::LoadedCorpus loaded, load_corpus(flags.corpus, context));
  OMNIBAL_ASSIGN(plan::ComparisonTask task, prepare(flags, loaded.corpus, context));
  task.forward = forward;
  std::vector<Row> rows;
  Json rows_json = Json::array();
  for (const std::string& name : methods) {
    OMNIBAL_ASSIGN(const Row row, measure(name, flags, task, context.progress));
    rows.push_back(row);
    rows_json.push_back(to_json(row));
  }
  Output output;
  output.json = {{"dp", flags.dp}, {"micro_batch", flags.packing.micro_batch}, {"rows", rows_json}};
  output.text = to_text(flags, task, rows);
  if (flags.scaling) {
    output.json["scaling"] = scaling_json(rows);
    output.text += scaling_text(rows);
  }
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
                           "without, all there are but auto, whose packs omnibal runs",
                   .value_name = "NAME,..."},
                  window_flag(&flags.window),
                  model_flag(&flags.model, "Model whose forward time is predicted"),
                  {.name = "--scaling",
                   .target = &flags.scaling,
                   .help = "Show the imbalance on 8, 16, ... 1024 ranks too"}},
                 packing_flags(flags.packing)});
}

}  // namespace

Command make_compare_command() {
  auto flags = std::make_shared<CompareFlags>();
  flags->packing.limits = "paper";  // as in the paper's table 3
  return {.name = "compare",
          .summary = "Compare methods of forming micro-batches on one corpus",
          .description =
              "Forms micro-batches by every method and shows padding, imbalance between "
              "data-parallel ranks (vision units, tokens, attention, predicted time), fill and "
              "seconds: the paper's table 3. isf is the paper's packing in random order, omnibal "
              "the packs of method auto in steps whose ranks are alike.",
          .example =
              "omnibal compare corpus/ --dp 8 --micro-batch 4\n"
              "omnibal compare corpus/ --vision-cap 9 --token-cap 4096 --scaling\n"
              "omnibal compare lengths.json --dp 64 --vision-cap 9 --token-cap 4096 "
              "--methods length-grouped --model internvit-300m+qwen2.5-0.5b",
          .flags = compare_flags(*flags),
          .run = [flags](const Context& context) { return run_compare(*flags, context); }};
}

}  // namespace omnibal::cli
