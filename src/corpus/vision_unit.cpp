// SPDX-License-Identifier: Apache-2.0
#include "corpus/vision_unit.h"

#include "corpus/length_row.h"

namespace omnibal::corpus {

Result<VisionUnit> read_vision_unit(const codec::JsonFields& unit) {
  VisionUnit read;
  OMNIBAL_ASSIGN(read.name, unit.text("name"));
  OMNIBAL_ASSIGN(const std::int64_t vision, unit.integer("vision_tokens", 1, kMaxLength));
  OMNIBAL_ASSIGN(const std::int64_t llm, unit.integer("llm_tokens", 0, kMaxLength));
  read.vision_tokens = static_cast<std::int32_t>(vision);
  read.llm_tokens = static_cast<std::int32_t>(llm);
  return read;
}

}  // namespace omnibal::corpus
