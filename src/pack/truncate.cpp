// SPDX-License-Identifier: Apache-2.0
#include "pack/admission.h"

namespace omnibal::pack {

std::variant<Truncation, Rejection> cut_to_fit(std::uint32_t sample,
                                               const metrics::SampleColumns& samples,
                                               const CutColumns& cut,
                                               const metrics::PackCaps& caps) {
  const std::int64_t vision = samples.vision[sample];
  const std::int64_t tokens = samples.tokens[sample];
  const std::int64_t supervised = cut.supervised[sample];
  if (vision > caps.vision_units) return Rejection{sample, "vision", vision, caps.vision_units};
  const std::int64_t media = cut.llm_tokens * (vision - cut.dummy_vision[sample]);
  if (media >= caps.tokens) return Rejection{sample, "media", media, caps.tokens - 1};
  // Lengths do not say where the tokens with a loss stand: at worst all that is cut off has one.
  const std::int64_t cut_off = tokens - caps.tokens;
  if (supervised <= cut_off) return Rejection{sample, "supervised", supervised, cut_off + 1};
  return Truncation{sample, static_cast<std::uint32_t>(tokens),
                    static_cast<std::uint32_t>(caps.tokens),
                    static_cast<std::uint32_t>(supervised - cut_off)};
}

std::vector<std::uint32_t> cut_column(std::span<const std::uint32_t> column,
                                      std::span<const Truncation> truncated,
                                      std::uint32_t Truncation::*after) {
  if (truncated.empty()) return {};
  std::vector<std::uint32_t> values(column.begin(), column.end());
  for (const Truncation& cut : truncated) values[cut.sample] = cut.*after;
  return values;
}

}  // namespace omnibal::pack
