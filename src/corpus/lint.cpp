// SPDX-License-Identifier: Apache-2.0
#include "corpus/lint.h"

#include <fmt/format.h>

#include <algorithm>

namespace omnibal::corpus {
namespace {

struct KindInfo {
  LintKind kind;
  const char* name;
  Severity severity;  // kError: such a sample is rejected later
};

constexpr std::array kKinds = {
    KindInfo{LintKind::kZeroTokens, "zero_tokens", Severity::kError},
    KindInfo{LintKind::kFlagsExceedTiles, "flags_exceed_tiles", Severity::kWarning},
    KindInfo{LintKind::kTilesNeedMoreTokens, "tiles_need_more_tokens", Severity::kWarning},
    KindInfo{LintKind::kAllSameLength, "all_same_length", Severity::kWarning},
    KindInfo{LintKind::kTextOnlyWithoutDummy, "text_only_without_dummy", Severity::kWarning},
};
static_assert(kKinds.size() == static_cast<std::size_t>(LintKind::kCount));

/// "lengths.json row 3"
std::string place_of(const Corpus& corpus, std::size_t sample) {
  const Source& source = corpus.sources[corpus.source[sample]];
  return fmt::format("{} row {}", source.path.empty() ? source.name : source.path,
                     corpus.row[sample]);
}

void lint_sample(const Corpus& corpus, std::size_t i, LintLog& log) {
  const std::uint32_t real = corpus.vision[i] - corpus.dummy_vision[i];
  const std::int64_t needed = std::int64_t{corpus.unit.llm_tokens} * real;
  if (corpus.tokens[i] == 0) {
    log.add(LintKind::kZeroTokens, [&] { return place_of(corpus, i) + ": 0 tokens"; });
  } else if (corpus.tokens[i] < needed) {
    log.add(LintKind::kTilesNeedMoreTokens, [&] {
      return fmt::format("{}: {} tiles need {} tokens, has {}", place_of(corpus, i), real, needed,
                         corpus.tokens[i]);
    });
  }
  if (corpus.vision[i] == 0) {
    log.add(LintKind::kTextOnlyWithoutDummy, [&] {
      return place_of(corpus, i) + ": no vision unit, not even a blank one (--dummy adds it)";
    });
  }
}

struct LengthRange {
  std::uint32_t least = UINT32_MAX;
  std::uint32_t most = 0;
};

void lint_sources(const Corpus& corpus, const std::vector<LengthRange>& ranges, LintLog& log) {
  for (std::size_t s = 0; s < corpus.sources.size(); ++s) {
    const Source& source = corpus.sources[s];
    if (source.num_samples < 2 || ranges[s].least != ranges[s].most || ranges[s].most == 0)
      continue;
    const auto example = [&] {
      return fmt::format("{}: all {} samples have {} tokens: already padded?",
                         source.path.empty() ? source.name : source.path, source.num_samples,
                         ranges[s].most);
    };
    log.add(LintKind::kAllSameLength, example, source.num_samples);
  }
}

}  // namespace

std::vector<Finding> LintLog::worst_first() const {
  std::vector<Finding> findings;
  for (const KindInfo& info : kKinds) {
    const Entry& entry = entries_[static_cast<std::size_t>(info.kind)];
    if (entry.count > 0) findings.push_back({info.name, info.severity, entry.count, entry.example});
  }
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    if (a.severity != b.severity) return a.severity == Severity::kError;
    return a.count > b.count;
  });
  return findings;
}

void lint_columns(const Corpus& corpus, LintLog& log) {
  std::vector<LengthRange> ranges(corpus.sources.size());
  for (std::size_t i = 0; i < corpus.tokens.size(); ++i) {
    LengthRange& range = ranges[corpus.source[i]];
    range.least = std::min(range.least, corpus.tokens[i]);
    range.most = std::max(range.most, corpus.tokens[i]);
    lint_sample(corpus, i, log);
  }
  lint_sources(corpus, ranges, log);
}

}  // namespace omnibal::corpus
