// SPDX-License-Identifier: Apache-2.0
//
// The linear program of patterns (Gilmore and Gomory, Operations Research 9, 1961): how often each
// way of filling a pack is used, in fractions, so that all samples are in packs and the packs are
// fewest. Its dual gives each type of sample a weight such that no pack weighs more than 1.
//
//   const PatternSolution s = solve_patterns({.types = types, .vision_cap = 9, .token_cap = 1024});
//   s.patterns[0].copies;      // 812.5 packs of patterns[0].numbers[k] samples of type k each
//   s.weights[3];              // what a sample of type 3 costs, in packs
//
// Not a proof: sums are rounded. pack_bound.h proves with weights from here, exactly, in integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace omnibal::metrics {

/// Samples alike. Each fits in a pack; not both sizes are 0.
struct PatternType {
  std::int64_t count = 0;
  std::int32_t vision = 0;
  std::int32_t tokens = 0;
};

/// Sizes and caps in steps coarse enough for a table of (vision_cap + 1) x (token_cap + 1) entries.
struct PatternProblem {
  std::vector<PatternType> types;
  std::int32_t vision_cap = 0;
  std::int32_t token_cap = 0;
  std::int32_t max_pivots = 1000;
};

struct Pattern {
  double copies = 0;
  std::vector<std::int32_t> numbers;  // of samples, by type
};

struct PatternSolution {
  double packs = 0;               // sum of copies
  std::vector<double> weights;    // by type
  std::vector<Pattern> patterns;  // one a type at most
};

/// Column generation over a dense simplex; a new pattern is the heaviest pack under the weights so
/// far, from the knapsack's dynamic program. Stops 1e-4 from the optimum or after `max_pivots`: the
/// patterns are then some that serve all samples, the weights those of the largest bound so far.
/// O(pivots x types x (entries of the table + types)). The same on every machine.
PatternSolution solve_patterns(const PatternProblem& problem);

}  // namespace omnibal::metrics
