// SPDX-License-Identifier: Apache-2.0
#include "train/measured_packs.h"

#include <algorithm>
#include <set>

namespace omnibal::runtime {
namespace {

using Loads = std::span<const metrics::PackLoad>;

/// Packs by one part of their load, ties by index.
std::vector<std::int64_t> ordered_by(Loads loads, std::int64_t metrics::PackLoad::*part) {
  std::vector<std::int64_t> packs;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (loads[i].tokens > 0) packs.push_back(static_cast<std::int64_t>(i));
  }
  std::ranges::stable_sort(
      packs, {}, [&](std::int64_t pack) { return loads[static_cast<std::size_t>(pack)].*part; });
  return packs;
}

/// `count` of `packs`, both ends among them.
void add_evenly(const std::vector<std::int64_t>& packs, std::size_t count,
                std::set<std::int64_t>& chosen) {
  for (std::size_t i = 0; i < count; ++i) {
    chosen.insert(packs[i * (packs.size() - 1) / std::max<std::size_t>(count - 1, 1)]);
  }
}

template <class T>
void keep_first(std::vector<T>& values, std::int64_t count) {
  values.resize(static_cast<std::size_t>(count));
}

}  // namespace

std::vector<std::int64_t> representative_packs(Loads loads, std::size_t count) {
  const std::vector<std::int64_t> by_pairs = ordered_by(loads, &metrics::PackLoad::token_pairs);
  if (by_pairs.empty()) return {};
  std::set<std::int64_t> chosen;
  add_evenly(by_pairs, (count + 1) / 2, chosen);
  add_evenly(ordered_by(loads, &metrics::PackLoad::vision_units), count / 2, chosen);
  return {chosen.begin(), chosen.end()};
}

PackArrays leading_samples(const PackArrays& pack, std::size_t count, std::int64_t image_token,
                           std::int64_t unit_tokens) {
  PackArrays part = pack;
  const std::int64_t tokens = pack.segment_offsets[count];
  part.samples.resize(count);
  part.segment_offsets.resize(count + 1);
  keep_first(part.ids, tokens);
  keep_first(part.positions, tokens);
  keep_first(part.labels, tokens);
  keep_first(part.weights, tokens);
  part.num_supervised = tokens - std::ranges::count(part.labels, kUnsupervised);
  part.weight_sum = 0;
  for (const double weight : part.weights) part.weight_sum += weight;
  part.num_tiles = std::ranges::count(part.ids, image_token) / unit_tokens;
  part.num_blank_tiles = 0;
  if (pack.num_tiles > 0) {
    keep_first(part.pixels,
               static_cast<std::int64_t>(pack.pixels.size()) / pack.num_tiles * part.num_tiles);
  }
  return part;
}

}  // namespace omnibal::runtime
