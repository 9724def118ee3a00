// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "corpus/input_forms.h"
#include "omnibal/base/nearest_name.h"

namespace omnibal::corpus {
namespace {

Status read_input(Loading& loading, const Input& input) {
  std::error_code ignored;
  if (std::filesystem::is_directory(input.path, ignored)) {
    return read_corpus_directory(loading, input);
  }
  OMNIBAL_ASSIGN(RowReader reader, RowReader::open(input.path, loading.progress));
  if (is_megatron_index(reader.first_bytes())) return read_megatron_index(loading, input);
  return read_json_lengths(loading, input, std::move(reader));
}

Status check_inputs(const std::vector<Input>& inputs) {
  if (inputs.empty()) return Error(ErrorCode::kInvalidArgument, "no input is given");
  const auto is_stdin = [](const Input& input) { return input.path == "-"; };
  if (std::count_if(inputs.begin(), inputs.end(), is_stdin) > 1) {
    return Error(ErrorCode::kInvalidArgument, "standard input can be read only once")
        .with_value("-");
  }
  return {};
}

/// As far as the names are known without reading the rows; standard input is checked afterwards.
Status check_names_early(const std::vector<Input>& inputs, const MixtureOptions& mixture) {
  if (mixture.weights.empty()) return {};
  std::vector<std::string> names;
  for (const Input& input : inputs) {
    if (input.path == "-") return {};
    OMNIBAL_ASSIGN(const std::vector<std::string> more, source_names(input));
    names.insert(names.end(), more.begin(), more.end());
  }
  return check_weighted_names(mixture.weights, names);
}

Status check_names(const Loading& loading, const MixtureOptions& mixture) {
  std::vector<std::string> names;
  for (const Source& source : loading.corpus.sources) names.push_back(source.name);
  return check_weighted_names(mixture.weights, names);
}

Error lint_failed(const std::vector<Finding>& findings, const std::vector<Input>& inputs) {
  const std::int64_t count =
      std::accumulate(findings.begin(), findings.end(), std::int64_t{0},
                      [](std::int64_t sum, const Finding& finding) { return sum + finding.count; });
  Error error =
      Error(ErrorCode::kLintFailed,
            fmt::format("{} findings of {} kinds, first {}: {}", count, findings.size(),
                        findings[0].kind, findings[0].example))
          .with_value(count)
          .with_limit(std::int64_t{0})
          .with_hint("`omnibal stats` lists them all; without --strict they are warnings");
  if (inputs.size() == 1) error.where.file = inputs[0].path;
  return error;
}

}  // namespace

Status check_weighted_names(const std::vector<SourceWeight>& weights,
                            std::span<const std::string> names) {
  for (const SourceWeight& weight : weights) {
    if (std::ranges::find(names, weight.source) != names.end()) continue;
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("there is no source \"{}\"; the nearest is \"{}\"", weight.source,
                             nearest_name(weight.source, names)))
        .at_key("weights." + weight.source)
        .with_value(weight.weight)
        .with_hint("`omnibal stats` lists the sources of these inputs");
  }
  return {};
}

Input parse_input(const std::string& text) {
  const std::size_t mark = text.find('=');
  const bool named = mark != std::string::npos && mark > 0 && text.find('/') > mark;
  if (!named) return {.path = text, .name = ""};
  return {.path = text.substr(mark + 1), .name = text.substr(0, mark)};
}

Result<LoadedCorpus> read_corpus(const std::vector<Input>& inputs, const ReadOptions& options,
                                 const Progress& progress) {
  OMNIBAL_RETURN_IF_ERROR(check_inputs(inputs));
  OMNIBAL_RETURN_IF_ERROR(check_mixture(options.mixture));
  OMNIBAL_RETURN_IF_ERROR(check_names_early(inputs, options.mixture));
  Loading loading;
  loading.add_dummy = options.add_dummy;
  loading.progress = progress;
  for (const Input& input : inputs) OMNIBAL_RETURN_IF_ERROR(read_input(loading, input));
  OMNIBAL_RETURN_IF_ERROR(check_names(loading, options.mixture));
  lint_columns(loading.corpus, loading.lint);
  std::vector<Finding> findings = loading.lint.worst_first();
  if (options.strict && !findings.empty()) return lint_failed(findings, inputs);
  OMNIBAL_RETURN_IF_ERROR(mix_sources(loading, options.mixture));
  return LoadedCorpus{std::move(loading.corpus), std::move(findings), std::move(loading.inputs)};
}

}  // namespace omnibal::corpus
