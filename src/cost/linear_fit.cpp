// SPDX-License-Identifier: Apache-2.0
#include "omnibal/cost/linear_fit.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <optional>

namespace omnibal::cost {
namespace {

constexpr std::size_t kNumTerms = 4;
using Row = std::array<double, kNumTerms>;
using Square = std::array<Row, kNumTerms>;

/// Of a column that depends on others, as a share of its own square.
constexpr double kNoPivot = 1e-9;
/// By how much of the values' squares a further term must better a fit.
constexpr double kBetter = 1e-12;

/// Columns by preference among fits alike: what a load has before what it costs without one.
Row row_of(const Load& load) { return {load.token_pairs, load.tokens, load.vision_units, 1}; }

LinearCost cost_of(const Row& terms) {
  return {.constant = terms[3],
          .per_vision_unit = terms[2],
          .per_token = terms[1],
          .per_token_pair = terms[0]};
}

/// Columns scaled to a largest value of 1: token pairs are a million times as many as units.
Row scales_of(std::span<const Load> loads) {
  Row scales = {};
  for (const Load& load : loads) {
    const Row row = row_of(load);
    for (std::size_t i = 0; i < kNumTerms; ++i) scales[i] = std::max(scales[i], row[i]);
  }
  return scales;
}

struct NormalEquations {
  Square left = {};
  Row right = {};
  double squares = 0;  // of the values
};

NormalEquations normal_equations(std::span<const Load> loads, std::span<const double> values,
                                 const Row& scales) {
  NormalEquations normal;
  for (std::size_t k = 0; k < loads.size(); ++k) {
    Row row = row_of(loads[k]);
    for (std::size_t i = 0; i < kNumTerms; ++i) row[i] = scales[i] > 0 ? row[i] / scales[i] : 0;
    for (std::size_t i = 0; i < kNumTerms; ++i) {
      for (std::size_t j = 0; j < kNumTerms; ++j) normal.left[i][j] += row[i] * row[j];
      normal.right[i] += row[i] * values[k];
    }
    normal.squares += values[k] * values[k];
  }
  return normal;
}

/// Of the columns in `chosen` (bits), by Gaussian elimination without exchange, which is stable for
/// positive definite matrices; nothing where they depend on each other.
std::optional<Row> solve(NormalEquations normal, unsigned chosen) {
  const auto in = [chosen](std::size_t i) { return (chosen >> i & 1U) != 0; };
  Row solution = {};
  Square& left = normal.left;
  for (std::size_t i = 0; i < kNumTerms; ++i) solution[i] = left[i][i];
  const Row whole = solution;
  for (std::size_t i = 0; i < kNumTerms; ++i) {
    if (!in(i)) continue;
    if (!(left[i][i] > kNoPivot * whole[i])) return std::nullopt;
    for (std::size_t j = i + 1; j < kNumTerms; ++j) {
      if (!in(j)) continue;
      const double factor = left[j][i] / left[i][i];
      for (std::size_t k = i; k < kNumTerms; ++k) left[j][k] -= factor * left[i][k];
      normal.right[j] -= factor * normal.right[i];
    }
  }
  solution = {};
  for (std::size_t i = kNumTerms; i-- > 0;) {
    if (!in(i)) continue;
    double rest = normal.right[i];
    for (std::size_t k = i + 1; k < kNumTerms; ++k) rest -= left[i][k] * solution[k];
    solution[i] = rest / left[i][i];
  }
  return solution;
}

unsigned allowed_columns(const FitTerms& terms) {
  return (terms.token_pair ? 1U : 0U) | (terms.token ? 2U : 0U) | (terms.vision_unit ? 4U : 0U) |
         (terms.constant ? 8U : 0U);
}

double missed_squares(std::span<const Load> loads, std::span<const double> values,
                      const LinearCost& cost) {
  double squares = 0;
  for (std::size_t k = 0; k < loads.size(); ++k) {
    const double missed = values[k] - cost.at(loads[k]);
    squares += missed * missed;
  }
  return squares;
}

/// Choices of columns, those with fewer first, then by preference.
std::array<unsigned, 1U << kNumTerms> choices() {
  std::array<unsigned, 1U << kNumTerms> all = {};
  for (unsigned i = 0; i < all.size(); ++i) all[i] = i;
  const auto count = [](unsigned bits) { return std::popcount(bits); };
  std::ranges::stable_sort(all, {}, count);
  return all;
}

}  // namespace

LinearFit fit_linear_cost(std::span<const Load> loads, std::span<const double> values,
                          const FitTerms& terms) {
  const Row scales = scales_of(loads);
  const NormalEquations normal = normal_equations(loads, values, scales);
  const unsigned allowed = allowed_columns(terms);
  LinearCost best;
  double least = normal.squares;
  // The constrained optimum is the unconstrained one of the terms that are not 0 in it.
  for (const unsigned chosen : choices()) {
    if ((chosen & ~allowed) != 0) continue;
    std::optional<Row> solution = solve(normal, chosen);
    if (!solution || std::ranges::min(*solution) < 0) continue;
    for (std::size_t i = 0; i < kNumTerms; ++i) {
      if (scales[i] > 0) (*solution)[i] /= scales[i];
    }
    const double missed = missed_squares(loads, values, cost_of(*solution));
    if (missed >= least - kBetter * normal.squares) continue;
    least = missed;
    best = cost_of(*solution);
  }
  return {best, normal.squares > 0 ? std::sqrt(least / normal.squares) : 0};
}

}  // namespace omnibal::cost
