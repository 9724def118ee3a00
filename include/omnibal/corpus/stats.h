// SPDX-License-Identifier: Apache-2.0
//
// What a corpus looks like in numbers: totals and percentiles of each column.
//
//   const CorpusStats stats = corpus_stats(corpus);
//   stats.tokens.p95;       // 95 % of the samples have at most so many tokens
//   stats.vision.mean;      // real vision units a sample, text-only samples included
//
// Not for ratios of packs or steps: room metrics.
#pragma once

#include <cstdint>

#include "omnibal/corpus/corpus.h"

namespace omnibal::corpus {

/// Of all samples. Percentiles by nearest rank: the ceil(p/100 * n)-th smallest value.
struct ColumnSummary {
  std::int64_t total = 0;
  double mean = 0;
  double std = 0;  // of the population
  std::int64_t min = 0;
  std::int64_t p50 = 0;
  std::int64_t p95 = 0;
  std::int64_t p99 = 0;
  std::int64_t max = 0;
};

struct CorpusStats {
  std::int64_t samples = 0;
  std::int64_t text_only = 0;  // without a real vision unit
  ColumnSummary vision;        // real units
  ColumnSummary dummy_vision;
  ColumnSummary tokens;
};

/// O(samples) time, 4 bytes a sample.
CorpusStats corpus_stats(const Corpus& corpus);

}  // namespace omnibal::corpus
