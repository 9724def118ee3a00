// SPDX-License-Identifier: Apache-2.0
//
// Oddities of lengths that are no errors, counted by kind. Private to the room.
//
//   LintLog log;
//   log.add(LintKind::kZeroTokens, [&] { return fmt::format("{} row {}: 0 tokens", file, row); });
//   log.worst_first();
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "omnibal/corpus/corpus.h"

namespace omnibal::corpus {

enum class LintKind : std::size_t {
  kZeroTokens,
  kFlagsExceedTiles,
  kTilesNeedMoreTokens,
  kAllSameLength,
  kTextOnlyWithoutDummy,
  kCount,
};

class LintLog {
 public:
  /// `make_example` is called for the first of a kind only: the others cost nothing.
  template <class MakeExample>
  void add(LintKind kind, const MakeExample& make_example, std::int64_t count = 1) {
    Entry& entry = entries_[static_cast<std::size_t>(kind)];
    if (entry.count == 0) entry.example = make_example();
    entry.count += count;
  }

  /// One finding a kind that occurred: errors before warnings, then the more frequent.
  std::vector<Finding> worst_first() const;

 private:
  struct Entry {
    std::int64_t count = 0;
    std::string example;
  };
  std::array<Entry, static_cast<std::size_t>(LintKind::kCount)> entries_;
};

/// Adds what the columns alone tell. O(samples).
void lint_columns(const Corpus& corpus, LintLog& log);

}  // namespace omnibal::corpus
