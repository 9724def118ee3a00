// SPDX-License-Identifier: Apache-2.0
//
// Collective: what one rank asks for when it calls a collective of Communicator, as data.
//
//   const Collective sum = {.kind = CollectiveKind::kAllReduce, .in = data, .out = data,
//                           .count = 10, .element = Element::kF32};
//   if (auto why = difference(sum, theirs)) ...   // ranks that ask for different things
//   part_range(10, 3, 1);   // [3, 6): the elements that rank 1 of 3 folds
//
// Not an operation under way: that is an Operation (operation.h).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "omnibal/runtime/comm/communicator.h"

namespace omnibal::runtime {

enum class CollectiveKind { kAllReduce, kReduceScatter, kAllGather, kBroadcast, kBarrier };

struct Collective {
  CollectiveKind kind = CollectiveKind::kBarrier;
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t count = 0;  // of the reduction, or of a rank's part; gathers and broadcasts: bytes
  Element element = Element::kU8;
  Reduction reduction = Reduction::kSum;
  int root = 0;

  std::size_t bytes() const { return count * element_size(element); }
};

std::string_view name_of(CollectiveKind kind);

/// How two ranks' calls contradict each other, or nothing.
std::optional<std::string> difference(const Collective& a, const Collective& b);

/// Elements [begin, end) of `count` that belong to `rank` of `size`.
struct PartRange {
  std::size_t begin;
  std::size_t end;
  std::size_t size() const { return end - begin; }
};
PartRange part_range(std::size_t count, int size, int rank);

}  // namespace omnibal::runtime
