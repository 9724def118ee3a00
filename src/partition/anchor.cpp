// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "omnibal/partition/partition.h"

namespace omnibal::partition {

Result<Cuts> partition_anchor(std::span<const double> weights, std::int32_t num_stages) {
  OMNIBAL_RETURN_IF_ERROR(check_stages(static_cast<std::int64_t>(weights.size()), num_stages));
  const double target = std::accumulate(weights.begin(), weights.end(), 0.0) / num_stages;
  Cuts cuts;
  double sum = 0;
  std::size_t begin = 0;  // of the open stage
  for (std::size_t layer = 0; layer < weights.size(); ++layer) {
    const std::size_t stages_behind = static_cast<std::size_t>(num_stages) - 1 - cuts.size();
    if (stages_behind == 0) break;
    const bool farther = sum + weights[layer] - target > target - sum;
    const bool rest_is_needed = weights.size() - layer == stages_behind;
    if (layer > begin && (farther || rest_is_needed)) {
      cuts.push_back(LayerIndex{static_cast<std::int32_t>(layer)});
      begin = layer;
      sum = 0;
    }
    sum += weights[layer];
  }
  return cuts;
}

}  // namespace omnibal::partition
