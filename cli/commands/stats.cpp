// SPDX-License-Identifier: Apache-2.0
//
// omnibal stats: what a corpus holds, and what is odd about it.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/options/data_flags.h"
#include "cli/text_table.h"
#include "omnibal/corpus/stats.h"

namespace omnibal::cli {
namespace {

using codec::Json;

const char* name_of(corpus::Severity severity) {
  return severity == corpus::Severity::kError ? "error" : "warning";
}

Json summary_json(const corpus::ColumnSummary& column) {
  return {{"total", column.total}, {"mean", column.mean}, {"std", column.std}, {"min", column.min},
          {"p50", column.p50},     {"p95", column.p95},   {"p99", column.p99}, {"max", column.max}};
}

Json stats_json(const corpus::LoadedCorpus& loaded, const corpus::CorpusStats& stats) {
  Json sources = Json::array();
  for (const corpus::Source& source : loaded.corpus.sources) {
    sources.push_back({{"name", source.name},
                       {"samples", source.num_samples},
                       {"weight", source.weight},
                       {"repeat", source.repeat},
                       {"given", source.given()},
                       {"left_out", source.left_out}});
  }
  Json lint = Json::array();
  for (const corpus::Finding& finding : loaded.findings) {
    lint.push_back({{"kind", finding.kind},
                    {"severity", name_of(finding.severity)},
                    {"count", finding.count},
                    {"example", finding.example}});
  }
  return {{"samples", stats.samples},
          {"text_only", stats.text_only},
          {"sources", std::move(sources)},
          {"vision", summary_json(stats.vision)},
          {"dummy_vision", summary_json(stats.dummy_vision)},
          {"tokens", summary_json(stats.tokens)},
          {"lint", std::move(lint)}};
}

std::vector<std::string> summary_row(const char* name, const corpus::ColumnSummary& column) {
  return {name,
          fmt::format("{}", column.total),
          fmt::format("{:.2f}", column.mean),
          fmt::format("{:.2f}", column.std),
          fmt::format("{}", column.min),
          fmt::format("{}", column.p50),
          fmt::format("{}", column.p95),
          fmt::format("{}", column.p99),
          fmt::format("{}", column.max)};
}

std::string source_table(const std::vector<corpus::Source>& sources) {
  std::vector<std::vector<std::string>> rows = {
      {"source", "rows", "left out", "samples", "weight", "repeat"}};
  for (const corpus::Source& source : sources) {
    rows.push_back({source.name, fmt::format("{}", source.given()),
                    fmt::format("{}", source.left_out), fmt::format("{}", source.num_samples),
                    fmt::format("{}", source.weight), fmt::format("{:.4g}", source.repeat)});
  }
  return text_table(rows);
}

std::string findings_text(const std::vector<corpus::Finding>& findings) {
  if (findings.empty()) return "nothing odd found\n";
  std::vector<std::vector<std::string>> rows = {{"odd", "severity", "samples"}};
  for (const corpus::Finding& finding : findings) {
    rows.push_back({finding.kind, name_of(finding.severity), fmt::format("{}", finding.count)});
  }
  std::string text = text_table(rows);
  for (const corpus::Finding& finding : findings) {
    text += fmt::format("  first {}: {}\n", finding.kind, finding.example);
  }
  return text;
}

std::string stats_text(const corpus::LoadedCorpus& loaded, const corpus::CorpusStats& stats) {
  const corpus::VisionUnit& unit = loaded.corpus.unit;
  std::string text =
      fmt::format("{} samples, {} of them text only\n", stats.samples, stats.text_only);
  text += fmt::format("vision unit: {} ({} vision tokens, {} LLM tokens)\n", unit.name,
                      unit.vision_tokens, unit.llm_tokens);
  text += '\n' + source_table(loaded.corpus.sources) + '\n';
  text += text_table({{"a sample", "total", "mean", "std", "min", "p50", "p95", "p99", "max"},
                      summary_row("vision units", stats.vision),
                      summary_row("blank units", stats.dummy_vision),
                      summary_row("tokens", stats.tokens)});
  return text + '\n' + findings_text(loaded.findings);
}

Result<Output> run_stats(const CorpusFlags& flags, const Context& context) {
  OMNIBAL_ASSIGN(const corpus::LoadedCorpus loaded, load_corpus(flags, context));
  const corpus::CorpusStats stats = corpus::corpus_stats(loaded.corpus);
  Output output;
  output.json = stats_json(loaded, stats);
  output.text = stats_text(loaded, stats);
  return output;
}

}  // namespace

Command make_stats_command() {
  const auto flags = std::make_shared<CorpusFlags>();
  return {.name = "stats",
          .summary = "Show what a corpus holds and what is odd about it",
          .description =
              "Reads length lists, wrappers, corpus directories or Megatron indexes, checks "
              "every row, and prints totals, percentiles and findings, worst first.",
          .example =
              "omnibal stats corpus\n"
              "omnibal stats ai2d=ai2d_lengths.json chart=chartqa_lengths.json\n"
              "zcat lengths.jsonl.gz | omnibal stats - --json",
          .flags = corpus_flags(*flags),
          .run = [flags](const Context& context) { return run_stats(*flags, context); }};
}

}  // namespace omnibal::cli
