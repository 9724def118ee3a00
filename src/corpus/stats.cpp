// SPDX-License-Identifier: Apache-2.0
#include "omnibal/corpus/stats.h"

#include <algorithm>
#include <cmath>

namespace omnibal::corpus {
namespace {

__extension__ using Wide = unsigned __int128;  // n * sum of squares needs 31 + 31 + 62 bits

/// The ceil(percent / 100 * n)-th smallest, reordering `values`.
std::int64_t nearest_rank(std::vector<std::uint32_t>& values, std::size_t percent) {
  const std::size_t rank = (percent * values.size() + 99) / 100;
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

ColumnSummary summarize(std::vector<std::uint32_t> values) {
  ColumnSummary summary;
  if (values.empty()) return summary;
  Wide squares = 0;
  std::uint64_t total = 0;
  for (const std::uint32_t value : values) {
    total += value;
    squares += std::uint64_t{value} * value;
  }
  const Wide n = values.size();
  const auto count = static_cast<double>(values.size());
  summary.total = static_cast<std::int64_t>(total);
  summary.mean = static_cast<double>(total) / count;
  // n * squares - total^2 is exact, so that equal values have a deviation of exactly 0.
  summary.std = std::sqrt(static_cast<double>(n * squares - Wide{total} * total)) / count;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  summary.min = *least;
  summary.max = *most;
  summary.p50 = nearest_rank(values, 50);
  summary.p95 = nearest_rank(values, 95);
  summary.p99 = nearest_rank(values, 99);
  return summary;
}

}  // namespace

CorpusStats corpus_stats(const Corpus& corpus) {
  CorpusStats stats;
  stats.samples = corpus.size();
  std::vector<std::uint32_t> real(corpus.vision.size());
  for (std::size_t i = 0; i < real.size(); ++i) {
    real[i] = corpus.vision[i] - corpus.dummy_vision[i];
  }
  stats.text_only = std::count(real.begin(), real.end(), 0U);
  stats.vision = summarize(std::move(real));
  stats.dummy_vision = summarize({corpus.dummy_vision.begin(), corpus.dummy_vision.end()});
  stats.tokens = summarize(corpus.tokens);
  return stats;
}

}  // namespace omnibal::corpus
