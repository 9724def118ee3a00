// SPDX-License-Identifier: Apache-2.0
//
// StrongIndex: a position in one kind of sequence, so that a layer is never taken for a stage.
//
//   LayerIndex first{23};
//   StageIndex stage{1};
//   layers[first.value()];   // `first == stage` does not compile
#pragma once

#include <compare>
#include <cstdint>

namespace omnibal {

template <class Tag, class Rep = std::int32_t>
class StrongIndex {
 public:
  constexpr StrongIndex() = default;
  constexpr explicit StrongIndex(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  constexpr StrongIndex& operator++() { return ++value_, *this; }
  friend constexpr auto operator<=>(StrongIndex, StrongIndex) = default;

 private:
  Rep value_ = 0;
};

using LayerIndex = StrongIndex<struct LayerTag>;
using StageIndex = StrongIndex<struct StageTag>;
using RankIndex = StrongIndex<struct RankTag>;
using MicroBatchIndex = StrongIndex<struct MicroBatchTag>;
using PackIndex = StrongIndex<struct PackTag, std::int64_t>;

}  // namespace omnibal
