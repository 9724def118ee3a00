// SPDX-License-Identifier: Apache-2.0
#include "omnibal/cost/launch_overhead.h"

namespace omnibal::cost {

Profile with_launch_overhead(Profile profile) {
  for (LayerProfile& layer : profile.layers) {
    for (LinearCost* time :
         {&layer.forward_s, &layer.input_grad_s, &layer.weight_grad_s, &layer.recompute_s}) {
      if (time->constant == 0 && !time->is_zero()) {
        time->constant = kKernelsPerLayer * kSecondsPerKernel;
      }
    }
  }
  return profile;
}

}  // namespace omnibal::cost
