// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "omnibal/partition/partition.h"

namespace omnibal::partition {

Result<Cuts> partition_even_layers(std::int32_t num_layers, std::int32_t num_stages) {
  OMNIBAL_RETURN_IF_ERROR(check_stages(num_layers, num_stages));
  Cuts cuts;
  std::int32_t begin = 0;
  for (std::int32_t stage = 0; stage + 1 < num_stages; ++stage) {
    begin += num_layers / num_stages + (stage < num_layers % num_stages ? 1 : 0);
    cuts.push_back(LayerIndex{begin});
  }
  return cuts;
}

Result<Cuts> partition_vision_first(std::span<const std::optional<model::LayerKind>> kinds,
                                    std::int32_t num_stages) {
  OMNIBAL_RETURN_IF_ERROR(check_stages(static_cast<std::int64_t>(kinds.size()), num_stages));
  std::vector<std::int32_t> blocks;
  for (std::size_t layer = 0; layer < kinds.size(); ++layer) {
    if (kinds[layer] == model::LayerKind::kLlmBlock) {
      blocks.push_back(static_cast<std::int32_t>(layer));
    }
  }
  if (blocks.empty()) {
    return Error(ErrorCode::kInvalidArgument,
                 "vision-first needs to know the LLM blocks, and no layer is one")
        .at_key("kind")
        .with_hint("give the layers of the profile their \"kind\", or use another method");
  }
  if (num_stages == 1) return Cuts{};
  const auto num_blocks = static_cast<std::int32_t>(blocks.size());
  const std::int32_t on_first = num_blocks / num_stages;
  const std::int32_t others = num_stages - 1;
  const bool first_is_empty = blocks[0] == 0 && on_first == 0;
  if (num_blocks - on_first < others || first_is_empty) {
    return Error(ErrorCode::kTooManyStages,
                 fmt::format("{} LLM blocks do not reach all of {} stages behind the vision tower",
                             num_blocks, num_stages))
        .with_value(std::int64_t{num_stages})
        .with_limit(std::int64_t{num_blocks} + (blocks[0] > 0 ? 1 : 0))
        .with_hint("use fewer stages, or another method");
  }
  Cuts cuts;
  std::int32_t block = on_first;
  for (std::int32_t stage = 0; stage < others; ++stage) {
    cuts.push_back(LayerIndex{blocks[static_cast<std::size_t>(block)]});
    const std::int32_t remainder = (num_blocks - on_first) % others;
    block += (num_blocks - on_first) / others + (stage < remainder ? 1 : 0);
  }
  return cuts;
}

}  // namespace omnibal::partition
