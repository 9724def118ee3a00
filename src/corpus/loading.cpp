// SPDX-License-Identifier: Apache-2.0
#include "corpus/loading.h"

#include <fmt/format.h>

#include <algorithm>

namespace omnibal::corpus {
namespace {

template <class T>
void append(std::vector<T>& column, const std::vector<T>& more) {
  column.insert(column.end(), more.begin(), more.end());
}

Status check_total(std::int64_t samples, const Source& source) {
  if (samples <= kMaxSamples) return {};
  return Error(ErrorCode::kOutOfRange, "more samples than a corpus can hold")
      .in_file(source.path)
      .with_value(samples)
      .with_limit(kMaxSamples);
}

}  // namespace

std::uint32_t estimate_supervised(const VisionUnit& unit, const SampleLengths& sample) {
  const std::int64_t real = std::int64_t{sample.vision} - sample.dummy_vision;
  const std::int64_t text = std::int64_t{sample.tokens} - unit.llm_tokens * real;
  return static_cast<std::uint32_t>(std::max<std::int64_t>(0, text));
}

Status use_unit(Loading& loading, const VisionUnit& unit, const std::string& file) {
  VisionUnit& used = loading.corpus.unit;
  const bool same = used.name == unit.name && used.vision_tokens == unit.vision_tokens &&
                    used.llm_tokens == unit.llm_tokens;
  if (loading.unit_is_known && !same) {
    return Error(ErrorCode::kConflictingKeys, "the inputs count in different vision units")
        .in_file(file)
        .at_key("unit")
        .with_value(unit.name)
        .with_limit(used.name)
        .with_hint("plan them apart");
  }
  used = unit;
  loading.unit_is_known = true;
  return {};
}

Status begin_source(Loading& loading, Source source) {
  std::vector<Source>& sources = loading.corpus.sources;
  if (!loading.source_names.insert(source.name).second) {
    return Error(ErrorCode::kDuplicateName, fmt::format("duplicate name \"{}\"", source.name))
        .in_file(source.path)
        .at_key(source.name)
        .with_hint("name one of the two otherwise, as in name=path");
  }
  if (sources.size() == kMaxSources) {
    return Error(ErrorCode::kOutOfRange, "too many sources")
        .in_file(source.path)
        .with_limit(static_cast<std::int64_t>(kMaxSources));
  }
  loading.rows.push_back({.repeat = source.repeat, .weight = source.weight});
  sources.push_back(std::move(source));
  loading.source_begin = loading.corpus.size();
  return {};
}

void add_sample(Loading& loading, SampleLengths sample) {
  Corpus& corpus = loading.corpus;
  if (loading.add_dummy && sample.vision == 0) sample.vision = sample.dummy_vision = 1;
  const auto row = static_cast<std::uint32_t>(corpus.size() - loading.source_begin);
  corpus.vision.push_back(sample.vision);
  corpus.dummy_vision.push_back(sample.dummy_vision);
  corpus.tokens.push_back(sample.tokens);
  corpus.supervised.push_back(estimate_supervised(corpus.unit, sample));
  corpus.source.push_back(static_cast<std::uint16_t>(corpus.sources.size() - 1));
  corpus.row.push_back(row);
  std::vector<RowWeight>& weights = loading.rows.back().row_weights;
  if (sample.weight == 1 && weights.empty()) return;
  weights.resize(row, kUnitWeight);
  weights.push_back(to_row_weight(sample.weight));
}

Status end_source(Loading& loading) {
  Source& source = loading.corpus.sources.back();
  source.num_samples = loading.corpus.size() - loading.source_begin;
  loading.rows.back().rows = source.num_samples;
  return check_total(loading.corpus.size(), source);
}

Status add_corpus(Loading& loading, Corpus&& more, const std::string& file) {
  OMNIBAL_RETURN_IF_ERROR(use_unit(loading, more.unit, file));
  Corpus& corpus = loading.corpus;
  const std::size_t sources_before = corpus.sources.size();
  corpus.supervised_is_estimate =
      more.supervised_is_estimate || (sources_before > 0 && corpus.supervised_is_estimate);
  for (Source& source : more.sources) {
    const std::int64_t rows = source.num_samples;
    OMNIBAL_RETURN_IF_ERROR(begin_source(loading, std::move(source)));
    loading.rows.back() = {.rows = rows};  // its repeat and weight are in the samples already
  }
  OMNIBAL_RETURN_IF_ERROR(check_total(corpus.size() + more.size(), corpus.sources.back()));
  for (std::size_t i = 0; i < more.source.size(); ++i) {
    more.source[i] = static_cast<std::uint16_t>(more.source[i] + sources_before);
    if (loading.add_dummy && more.vision[i] == 0) more.vision[i] = more.dummy_vision[i] = 1;
  }
  if (corpus.tokens.empty()) {
    more.sources = std::move(corpus.sources);
    more.supervised_is_estimate = corpus.supervised_is_estimate;
    corpus = std::move(more);
    return {};
  }
  append(corpus.vision, more.vision);
  append(corpus.dummy_vision, more.dummy_vision);
  append(corpus.tokens, more.tokens);
  append(corpus.supervised, more.supervised);
  append(corpus.source, more.source);
  append(corpus.row, more.row);
  return {};
}

}  // namespace omnibal::corpus
