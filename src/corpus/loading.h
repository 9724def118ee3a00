// SPDX-License-Identifier: Apache-2.0
//
// Loading: the corpus while its inputs are read one after the other, and the few ways in which the
// readers of the several forms add to it. Private to the room.
//
//   OMNIBAL_RETURN_IF_ERROR(begin_source(loading, {.name = "a", .path = "a.json"}));
//   add_sample(loading, {.vision = 5, .dummy_vision = 0, .tokens = 1341});   // row 0, 1, ...
//   OMNIBAL_RETURN_IF_ERROR(end_source(loading));
//   OMNIBAL_RETURN_IF_ERROR(mix_sources(loading, options.mixture));           // once, at the end
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "corpus/drawing.h"
#include "corpus/lint.h"
#include "omnibal/corpus/corpus.h"

namespace omnibal::corpus {

/// What Corpus::source can tell apart.
inline constexpr std::size_t kMaxSources = std::size_t{UINT16_MAX} + 1;

/// The samples that a corpus can hold, and the rows that can be read for it.
inline constexpr std::int64_t kMaxSamples = INT32_MAX;

/// What was read of a source and what is asked for: rows lie in the columns one source after the
/// other, each once, until mix_sources.
struct SourceRows {
  std::int64_t rows = 0;
  double repeat = 1;
  double weight = 1;
  std::vector<RowWeight> row_weights = {};  // empty: all are 1
};

struct Loading {
  Corpus corpus;
  std::vector<SourceRows> rows;  // one a source
  std::vector<InputFile> inputs;
  LintLog lint;
  bool unit_is_known = false;  // an input has fixed corpus.unit
  bool add_dummy = false;
  Progress progress;
  std::int64_t source_begin = 0;       // first sample of the source being read
  std::set<std::string> source_names;  // of corpus.sources
};

struct SampleLengths {
  std::uint32_t vision = 0;
  std::uint16_t dummy_vision = 0;
  std::uint32_t tokens = 0;
  double weight = 1;  // how often the sample is wanted, before its source's repeat
};

/// Tokens with a loss as far as lengths tell: all that are no image tokens.
std::uint32_t estimate_supervised(const VisionUnit& unit, const SampleLengths& sample);

/// kConflictingKeys if an earlier input counts in other vision units.
Status use_unit(Loading& loading, const VisionUnit& unit, const std::string& file);

/// kDuplicateName if there is a source of this name, kOutOfRange beyond 65,536 of them.
Status begin_source(Loading& loading, Source source);
void add_sample(Loading& loading, SampleLengths sample);
/// Counts the rows. kOutOfRange beyond kMaxSamples of them.
Status end_source(Loading& loading);

/// Adds a whole corpus behind what is there: its samples are rows, repeated and drawn already.
Status add_corpus(Loading& loading, Corpus&& corpus, const std::string& file);

/// Repeats and draws: the rows become the samples of an epoch, in corpus order. O(samples), nothing
/// where every row is wanted once. Errors: kOutOfRange (too many samples), kNothingUsable (none, or
/// a source whose rows all have weight 0).
Status mix_sources(Loading& loading, const MixtureOptions& options);

}  // namespace omnibal::corpus
