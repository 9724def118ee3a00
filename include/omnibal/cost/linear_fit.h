// SPDX-License-Identifier: Apache-2.0
//
// Fits a linear cost to measurements: least squares under the constraint that no term is negative,
// which profiles demand.
//
//   const LinearFit fit = fit_linear_cost(loads, seconds, {.constant = true, .token = true});
//   fit.cost.at({9, 4096, 4.0e6});
//   fit.residual;           // 0.03: root mean square of what is missed, over that of the values
//
// Not a choice of terms: what a layer's cost can depend on, the caller knows.
#pragma once

#include <span>

#include "omnibal/cost/profile.h"

namespace omnibal::cost {

/// The terms that a cost may have.
struct FitTerms {
  bool constant = true;
  bool vision_unit = false;
  bool token = false;
  bool token_pair = false;
};

struct LinearFit {
  LinearCost cost;
  double residual = 0;  // relative; 0 where all values are 0
};

/// The least squares over all choices of terms; of fits alike within rounding, one with fewer terms
/// (a term that the loads do not tell from another one is left out: the constant first). `values`:
/// one a load. O(loads), 15 systems of at most four equations.
LinearFit fit_linear_cost(std::span<const Load> loads, std::span<const double> values,
                          const FitTerms& terms);

}  // namespace omnibal::cost
