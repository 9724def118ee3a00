// SPDX-License-Identifier: Apache-2.0
#include "comm/collective.h"

#include <fmt/format.h>

namespace omnibal::runtime {

std::string_view name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "all_reduce";
    case CollectiveKind::kReduceScatter:
      return "reduce_scatter";
    case CollectiveKind::kAllGather:
      return "all_gather";
    case CollectiveKind::kBroadcast:
      return "broadcast";
    case CollectiveKind::kBarrier:
      return "barrier";
  }
  return "";
}

std::optional<std::string> difference(const Collective& a, const Collective& b) {
  if (a.kind != b.kind) {
    return fmt::format("one calls {}, the other {}", name_of(a.kind), name_of(b.kind));
  }
  if (a.bytes() != b.bytes()) {
    return fmt::format("{} of {} bytes and of {}", name_of(a.kind), a.bytes(), b.bytes());
  }
  if (a.element != b.element || a.reduction != b.reduction || a.root != b.root) {
    return fmt::format("{} of different elements, reductions or roots", name_of(a.kind));
  }
  return std::nullopt;
}

PartRange part_range(std::size_t count, int size, int rank) {
  const auto ranks = static_cast<std::size_t>(size);
  const auto at = static_cast<std::size_t>(rank);
  return {count / ranks * at + count % ranks * at / ranks,
          count / ranks * (at + 1) + count % ranks * (at + 1) / ranks};
}

}  // namespace omnibal::runtime
