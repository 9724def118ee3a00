// SPDX-License-Identifier: Apache-2.0
#include "pack/sample_classes.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "omnibal/base/philox.h"

namespace omnibal::pack {
namespace {

/// Vision units and tokens of a sample as one number that sorts by them.
struct LengthKey {
  const metrics::SampleColumns& samples;
  std::uint64_t token_range;

  std::uint64_t operator()(std::uint32_t i) const {
    return samples.vision[i] * token_range + samples.tokens[i];
  }
};

/// Stable counting sort of `ids` by the digit of their key at `shift`.
void sort_by_digit(std::vector<std::uint32_t>& ids, std::vector<std::uint32_t>& sorted,
                   const LengthKey& key, int shift, int bits) {
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  std::vector<std::size_t> begin(static_cast<std::size_t>(mask) + 2);
  for (const std::uint32_t i : ids) ++begin[((key(i) >> shift) & mask) + 1];
  for (std::size_t d = 1; d < begin.size(); ++d) begin[d] += begin[d - 1];
  for (const std::uint32_t i : ids) sorted[begin[(key(i) >> shift) & mask]++] = i;
  ids.swap(sorted);
}

void sort_by_length(std::vector<std::uint32_t>& ids, const LengthKey& key) {
  constexpr int kDigitBits = 16;
  std::uint64_t largest = 0;
  for (const std::uint32_t i : ids) largest = std::max(largest, key(i));
  const int bits = static_cast<int>(std::bit_width(largest));
  const int passes = (bits + kDigitBits - 1) / kDigitBits;
  std::vector<std::uint32_t> other(ids.size());
  for (int pass = 0, shift = 0; pass < passes; ++pass) {
    const int width = (bits - shift) / (passes - pass);
    sort_by_digit(ids, other, key, shift, width);
    shift += width;
  }
}

}  // namespace

SampleClasses classify(const metrics::SampleColumns& samples,
                       std::span<const std::uint32_t> accepted, std::uint64_t seed) {
  // Rounds of ISF shuffle with substreams from 1.
  constexpr std::uint32_t kSubstream = 0;
  SampleClasses classes;
  classes.samples.assign(accepted.begin(), accepted.end());
  std::uint64_t token_range = 1;
  for (const std::uint32_t i : accepted) {
    token_range = std::max(token_range, std::uint64_t{samples.tokens[i]} + 1);
  }
  const LengthKey key{samples, token_range};
  sort_by_length(classes.samples, key);
  PhiloxRng rng(seed, RngStream::kPackShuffle, kSubstream);
  const std::span<std::uint32_t> ids(classes.samples);
  for (std::size_t begin = 0, end = 0; begin < ids.size(); begin = end) {
    const std::uint64_t length = key(ids[begin]);
    for (end = begin + 1; end < ids.size() && key(ids[end]) == length;) ++end;
    classes.vision.push_back(samples.vision[ids[begin]]);
    classes.tokens.push_back(samples.tokens[ids[begin]]);
    classes.offsets.push_back(static_cast<std::int64_t>(begin));
    shuffle(ids.subspan(begin, end - begin), rng);
  }
  classes.offsets.push_back(static_cast<std::int64_t>(ids.size()));
  return classes;
}

ClassCounts all_counts(const SampleClasses& classes) {
  ClassCounts counts(classes.size());
  for (std::size_t c = 0; c < counts.size(); ++c) counts[c] = classes.count(c);
  return counts;
}

}  // namespace omnibal::pack
