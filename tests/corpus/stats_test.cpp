// SPDX-License-Identifier: Apache-2.0
#include "omnibal/corpus/stats.h"

#include <gtest/gtest.h>

#include <cmath>

namespace omnibal::corpus {
namespace {

Corpus corpus_of(std::vector<std::uint32_t> tokens) {
  Corpus corpus;
  corpus.tokens = std::move(tokens);
  corpus.vision.resize(corpus.tokens.size());
  corpus.dummy_vision.resize(corpus.tokens.size());
  return corpus;
}

TEST(CorpusStats, PercentilesAreNearestRanks) {
  std::vector<std::uint32_t> tokens;
  for (std::uint32_t i = 100; i >= 1; --i) tokens.push_back(10 * i);
  const ColumnSummary summary = corpus_stats(corpus_of(tokens)).tokens;
  EXPECT_EQ(summary.p50, 500);
  EXPECT_EQ(summary.p95, 950);
  EXPECT_EQ(summary.p99, 990);
  EXPECT_EQ(summary.min, 10);
  EXPECT_EQ(summary.max, 1000);
  EXPECT_EQ(summary.total, 50'500);
  EXPECT_DOUBLE_EQ(summary.mean, 505);
  EXPECT_DOUBLE_EQ(summary.std, 10 * std::sqrt((100.0 * 100 - 1) / 12));
  const ColumnSummary three = corpus_stats(corpus_of({7, 5, 6})).tokens;
  EXPECT_EQ(three.p50, 6);
  EXPECT_EQ(three.p95, 7);
}

TEST(CorpusStats, OneSampleIsEveryPercentile) {
  const ColumnSummary summary = corpus_stats(corpus_of({42})).tokens;
  EXPECT_EQ(summary.p50, 42);
  EXPECT_EQ(summary.p99, 42);
  EXPECT_EQ(summary.std, 0);
}

TEST(CorpusStats, EqualLargeValuesHaveNoDeviation) {
  const ColumnSummary summary =
      corpus_stats(corpus_of(std::vector<std::uint32_t>(1001, INT32_MAX))).tokens;
  EXPECT_EQ(summary.std, 0);
  EXPECT_EQ(summary.total, 1001LL * INT32_MAX);
}

TEST(CorpusStats, VisionCountsRealUnitsAndTextOnlyHasNone) {
  Corpus corpus = corpus_of({900, 920, 400, 1400});
  corpus.vision = {3, 1, 0, 5};
  corpus.dummy_vision = {0, 1, 0, 0};
  const CorpusStats stats = corpus_stats(corpus);
  EXPECT_EQ(stats.samples, 4);
  EXPECT_EQ(stats.text_only, 2);
  EXPECT_EQ(stats.vision.total, 8);
  EXPECT_EQ(stats.dummy_vision.total, 1);
}

TEST(CorpusStats, NothingIsAllZero) {
  const CorpusStats stats = corpus_stats({});
  EXPECT_EQ(stats.samples, 0);
  EXPECT_EQ(stats.tokens.mean, 0);
}

}  // namespace
}  // namespace omnibal::corpus
