// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/optimizer/trained_parameter.h"

namespace omnibal::runtime {

std::vector<ElementRange> block_of(at::IntArrayRef sizes, std::int64_t dimension,
                                   std::int64_t begin, std::int64_t count) {
  std::int64_t outer = 1, inner = 1;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(sizes.size()); ++d) {
    if (d < dimension) outer *= sizes[static_cast<std::size_t>(d)];
    if (d > dimension) inner *= sizes[static_cast<std::size_t>(d)];
  }
  const std::int64_t extent = sizes.empty() ? 1 : sizes[static_cast<std::size_t>(dimension)];
  if (count <= 0 || outer * inner == 0) return {};
  if (count == extent) return {{0, outer * extent * inner}};
  std::vector<ElementRange> ranges;
  for (std::int64_t o = 0; o < outer; ++o) {
    const std::int64_t first = (o * extent + begin) * inner;
    ranges.push_back({first, first + count * inner});
  }
  return ranges;
}

}  // namespace omnibal::runtime
