// SPDX-License-Identifier: Apache-2.0
//
// StrongIndex: a position in one kind of sequence, so that a layer is never taken for a stage.
//
//   LayerIndex first{23};
//   StageIndex stage{1};
//   layers[first.value()];   // `first == stage` does not compile
//
// Not for the long arrays that files hold as they are (samples and packs by their number), and not
// a number to calculate with: value() is.
#pragma once

#include <compare>
#include <cstdint>

namespace omnibal {

template <class Tag>
class StrongIndex {
 public:
  constexpr StrongIndex() = default;
  constexpr explicit StrongIndex(std::int32_t value) : value_(value) {}
  constexpr std::int32_t value() const { return value_; }
  constexpr StrongIndex& operator++() { return ++value_, *this; }
  friend constexpr auto operator<=>(StrongIndex, StrongIndex) = default;

 private:
  std::int32_t value_ = 0;
};

using LayerIndex = StrongIndex<struct LayerTag>;
using StageIndex = StrongIndex<struct StageTag>;
using RankIndex = StrongIndex<struct RankTag>;
using MicroBatchIndex = StrongIndex<struct MicroBatchTag>;

}  // namespace omnibal
