// SPDX-License-Identifier: Apache-2.0
//
// What a micro-batch costs however small it is: the kernels that each layer starts.
//
//   const Profile timed = with_launch_overhead(profile);
//   timed.layers[1].forward_s.constant;    // 1e-4 s, unless the profile has a constant of its own
//
// Not part of a prediction: analytic rates are fitted to runs that paid it already. It is for
// comparing micro-batches of different sizes, where a cost that is only linear would always favour
// the smallest.
#pragma once

#include "omnibal/cost/profile.h"

namespace omnibal::cost {

/// Assumed, not measured (docs/methods/cost.md): about 20 kernels a layer and direction, 5 us each
/// until a device that waited for it is busy.
inline constexpr double kKernelsPerLayer = 20;
inline constexpr double kSecondsPerKernel = 5e-6;

/// Adds the overhead to each of a layer's times that depends on the load and has no constant: a
/// measured profile keeps its own. O(layers).
Profile with_launch_overhead(Profile profile);

}  // namespace omnibal::cost
