// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>

#include "checks.h"
#include "omnibal/corpus/corpus.h"

namespace omnibal::verify {
namespace {

using codec::Json;

/// Where to find a row of a source in what was read again.
struct SourceRows {
  const corpus::Corpus* corpus = nullptr;
  std::vector<std::int64_t> index_of_row;
};

/// Rows of the source called `name` (or of the only one: the user may have named it otherwise),
/// if its content is still the one that was planned.
std::optional<SourceRows> rows_of(const corpus::Corpus& corpus, const std::string& name,
                                  const std::string& hash) {
  for (std::size_t s = 0; s < corpus.sources.size(); ++s) {
    if (corpus.sources[s].name != name && corpus.sources.size() > 1) continue;
    if (corpus.sources[s].hash != hash) return std::nullopt;
    SourceRows rows{.corpus = &corpus, .index_of_row = {}};
    for (std::int64_t i = 0; i < corpus.size(); ++i) {
      if (corpus.source[static_cast<std::size_t>(i)] != s) continue;
      const std::size_t row = corpus.row[static_cast<std::size_t>(i)];
      if (row >= rows.index_of_row.size()) rows.index_of_row.resize(row + 1, -1);
      rows.index_of_row[row] = i;
    }
    return rows;
  }
  return std::nullopt;
}

Status compare_sample(const plan::PlanReader& plan, const SourceRows& rows, std::size_t sample) {
  const std::size_t row = plan.sample_row()[sample];
  const std::int64_t found = row < rows.index_of_row.size() ? rows.index_of_row[row] : -1;
  if (found < 0) return violation("sample {} names row {}, which its input lacks", sample, row);
  const auto index = static_cast<std::size_t>(found);
  const std::int64_t vision = rows.corpus->vision[index];
  const std::int64_t tokens = rows.corpus->tokens[index];
  if (vision != plan.sample_vision()[sample] || tokens != plan.sample_tokens()[sample]) {
    return violation(
        "sample {} (row {}) has {} vision units and {} tokens in its input, {} and {} "
        "in the plan",
        sample, row, vision, tokens, plan.sample_vision()[sample], plan.sample_tokens()[sample]);
  }
  return {};
}

/// Each path once, read as the plan's options say.
std::map<std::string, corpus::Corpus> read_inputs(const Json& document, const Json& sources) {
  corpus::ReadOptions options;
  options.add_dummy = document["provenance"]["options"].value("dummy", false);
  std::map<std::string, corpus::Corpus> inputs;
  for (const Json& source : sources) {
    const std::string path = source.value("path", "");
    if (path.empty() || path == "-" || inputs.contains(path)) continue;
    if (auto loaded = corpus::read_corpus({{.path = path, .name = ""}}, options, {})) {
      inputs.emplace(path, std::move(loaded->corpus));
    }
  }
  return inputs;
}

}  // namespace

Finding check_inputs(const plan::PlanReader& plan) {
  const codec::JsonFields root(plan.document(), std::string(plan::kPlanDocument));
  OMNIBAL_ASSIGN(const Json* provenance, root.object("provenance"));
  OMNIBAL_RETURN_IF_ERROR(
      codec::JsonFields(*provenance, std::string(plan::kPlanDocument), "provenance")
          .object("options"));
  OMNIBAL_ASSIGN(const Json* corpus_keys, root.object("corpus"));
  OMNIBAL_ASSIGN(
      const Json* sources,
      codec::JsonFields(*corpus_keys, std::string(plan::kPlanDocument), "corpus").array("sources"));
  const std::map<std::string, corpus::Corpus> inputs = read_inputs(plan.document(), *sources);
  std::vector<std::optional<SourceRows>> rows;
  std::int64_t num_read = 0;
  for (const Json& source : *sources) {
    const auto input = inputs.find(source.value("path", ""));
    rows.push_back(input == inputs.end() ? std::nullopt
                                         : rows_of(input->second, source.value("name", ""),
                                                   source.value("hash", "")));
    num_read += rows.back() ? 1 : 0;
  }
  for (std::size_t sample = 0; sample < plan.sample_source().size(); ++sample) {
    const std::size_t source = plan.sample_source()[sample];
    if (source >= rows.size()) return violation("sample {} names source {}", sample, source);
    if (rows[source]) OMNIBAL_RETURN_IF_ERROR(compare_sample(plan, *rows[source], sample));
  }
  return fmt::format(
      "{} of {} sources read again and compared row by row; the others are not "
      "there or have changed since",
      num_read, rows.size());
}

}  // namespace omnibal::verify
