// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "corpus/loading.h"

namespace omnibal::corpus {
namespace {

/// A weight of the options in place of the wrapper's.
void set_weights(Loading& loading, const MixtureOptions& options) {
  for (const SourceWeight& asked : options.weights) {
    const auto found = std::ranges::find(loading.corpus.sources, asked.source, &Source::name);
    if (found == loading.corpus.sources.end()) continue;  // check_names has said so
    loading.rows[static_cast<std::size_t>(found - loading.corpus.sources.begin())].weight =
        asked.weight;
  }
}

Result<std::vector<SourceSize>> sizes_of(const Loading& loading) {
  std::vector<SourceSize> sizes;
  for (std::size_t s = 0; s < loading.rows.size(); ++s) {
    const SourceRows& rows = loading.rows[s];
    const double size =
        rows.row_weights.empty() ? static_cast<double>(rows.rows) : total_weight(rows.row_weights);
    if (size == 0 && rows.rows > 0) {
      return Error(ErrorCode::kNothingUsable, "all rows have weight 0")
          .in_file(loading.corpus.sources[s].path)
          .at_key("weight");
    }
    sizes.push_back({size, rows.repeat, rows.weight});
  }
  return sizes;
}

/// Whether the samples asked for are more than a corpus can hold, before they are counted one by
/// one: a repeat may be any number.
Status check_natural_total(const std::vector<SourceSize>& sizes, const Loading& loading) {
  double total = 0;
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    total += sizes[s].rows * sizes[s].repeat;
    if (total < static_cast<double>(kMaxSamples) + 0.5) continue;
    return Error(ErrorCode::kOutOfRange, "more samples, repeats included, than a corpus can hold")
        .in_file(loading.corpus.sources[s].path)
        .with_value(total)
        .with_limit(kMaxSamples)
        .with_hint("lower the repeats");
  }
  return {};
}

bool takes_each_row_once(const SourceRows& rows, std::int64_t count) {
  return count == rows.rows && rows.row_weights.empty();
}

/// The corpus indices of the rows that become samples, in the order of these; frees the rows'
/// weights.
std::vector<std::uint32_t> draw_all(Loading& loading, const std::vector<std::int64_t>& counts,
                                    std::uint64_t seed) {
  std::vector<std::uint32_t> order;
  order.reserve(
      static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0})));
  std::uint32_t first = 0;
  for (std::size_t s = 0; s < counts.size(); ++s) {
    SourceRows& rows = loading.rows[s];
    Source& source = loading.corpus.sources[s];
    PhiloxRng rng(seed, RngStream::kMixture, static_cast<std::uint32_t>(s));
    if (!rows.row_weights.empty()) {
      source.left_out = draw_by_weight(rows.row_weights, counts[s], first, rng, order);
    } else if (rows.rows > 0) {
      source.left_out = draw_evenly(rows.rows, counts[s], first, rng, order);
    }
    first += static_cast<std::uint32_t>(rows.rows);
    std::vector<RowWeight>().swap(rows.row_weights);
  }
  return order;
}

template <class T>
void gather(std::vector<T>& column, const std::vector<std::uint32_t>& order) {
  std::vector<T> gathered;
  gathered.reserve(order.size());
  for (const std::uint32_t i : order) gathered.push_back(column[i]);
  column = std::move(gathered);
}

void gather_columns(Corpus& corpus, const std::vector<std::uint32_t>& order) {
  gather(corpus.vision, order);
  gather(corpus.dummy_vision, order);
  gather(corpus.tokens, order);
  gather(corpus.supervised, order);
  gather(corpus.source, order);
  gather(corpus.row, order);
}

/// `drawn`: the count follows from the source's share of the epoch, not from its repeat.
void record(Source& source, const SourceRows& rows, std::int64_t count, bool drawn) {
  source.num_given = rows.rows;
  source.num_samples = count;
  source.left_out = 0;
  source.weight = rows.weight;
  source.repeat = rows.repeat;
  if (rows.rows == 0 || (!drawn && rows.row_weights.empty())) return;
  source.repeat = static_cast<double>(count) / static_cast<double>(rows.rows);
}

}  // namespace

Status mix_sources(Loading& loading, const MixtureOptions& options) {
  set_weights(loading, options);
  OMNIBAL_ASSIGN(const std::vector<SourceSize> sizes, sizes_of(loading));
  if (!options.epoch_samples) OMNIBAL_RETURN_IF_ERROR(check_natural_total(sizes, loading));
  const std::vector<std::int64_t> counts = samples_of_sources(sizes, options);
  const bool drawn = is_drawn(sizes, options);
  bool changed = false;
  for (std::size_t s = 0; s < counts.size(); ++s) {
    const bool as_given = takes_each_row_once(loading.rows[s], counts[s]);
    changed |= !as_given;
    // What a corpus directory says of a source stays where nothing is done to it.
    if (as_given && !drawn) continue;
    record(loading.corpus.sources[s], loading.rows[s], counts[s], drawn);
  }
  if (!changed) return {};
  const std::vector<std::uint32_t> order = draw_all(loading, counts, options.seed);
  if (order.empty()) {
    return Error(ErrorCode::kNothingUsable, "repeats this small leave no sample")
        .in_file(loading.corpus.sources[0].path)
        .at_key("repeat")
        .with_value(loading.rows[0].repeat);
  }
  gather_columns(loading.corpus, order);
  return {};
}

}  // namespace omnibal::corpus
