// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <numeric>

#include "omnibal/partition/partition.h"

namespace omnibal::partition {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// best[k][i]: least sum of squared deviations from the mean when layers i.. form k + 1 stages;
/// end[k][i]: where the first of these stages ends.
struct SuffixTable {
  SuffixTable(std::size_t num_stages, std::size_t num_layers)
      : best(num_stages, std::vector<double>(num_layers + 1, kInfinity)),
        end(num_stages, std::vector<std::size_t>(num_layers + 1, num_layers)) {}
  std::vector<std::vector<double>> best;
  std::vector<std::vector<std::size_t>> end;
};

double squared(double x) { return x * x; }

/// One stage takes all of layers i.., for every i.
void fill_last_stage(std::span<const double> weights, double mean, SuffixTable& table) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double sum =
        std::accumulate(weights.begin() + static_cast<std::ptrdiff_t>(i), weights.end(), 0.0);
    table.best[0][i] = squared(sum - mean);
  }
}

/// `more` stages stand behind the one that begins at `begin`; of equal ends the lowest is kept.
void fill_stage(std::span<const double> weights, double mean, std::size_t more, std::size_t begin,
                SuffixTable& table) {
  double sum = 0;
  for (std::size_t end = begin + 1; end + more <= weights.size(); ++end) {
    sum += weights[end - 1];
    const double cost = squared(sum - mean) + table.best[more - 1][end];
    if (cost < table.best[more][begin]) {
      table.best[more][begin] = cost;
      table.end[more][begin] = end;
    }
  }
}

}  // namespace

Result<Cuts> partition_least_variance(std::span<const double> weights, std::int32_t num_stages) {
  OMNIBAL_RETURN_IF_ERROR(check_stages(static_cast<std::int64_t>(weights.size()), num_stages));
  const double mean = std::accumulate(weights.begin(), weights.end(), 0.0) / num_stages;
  SuffixTable table(static_cast<std::size_t>(num_stages), weights.size());
  fill_last_stage(weights, mean, table);
  for (std::size_t more = 1; more < static_cast<std::size_t>(num_stages); ++more) {
    for (std::size_t begin = 0; begin + more < weights.size(); ++begin) {
      fill_stage(weights, mean, more, begin, table);
    }
  }
  Cuts cuts;
  std::size_t begin = 0;
  for (auto more = static_cast<std::size_t>(num_stages) - 1; more > 0; --more) {
    begin = table.end[more][begin];
    cuts.push_back(LayerIndex{static_cast<std::int32_t>(begin)});
  }
  return cuts;
}

}  // namespace omnibal::partition
