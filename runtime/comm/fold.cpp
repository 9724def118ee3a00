// SPDX-License-Identifier: Apache-2.0
#include "comm/fold.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace omnibal::runtime {
namespace {

struct Bf16 {
  std::uint16_t bits;
};

/// How an element is stored and in what it is folded.
template <class Stored>
struct Folded {
  using Type = Stored;
  static Type load(Stored value) { return value; }
  static Stored store(Type value) { return value; }
};

template <>
struct Folded<Bf16> {
  using Type = float;
  static float load(Bf16 value) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
  }
  static Bf16 store(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (value != value) return {static_cast<std::uint16_t>((bits >> 16) | 0x40)};  // stays NaN
    const std::uint32_t to_nearest_even = 0x7FFF + ((bits >> 16) & 1);
    return {static_cast<std::uint16_t>((bits + to_nearest_even) >> 16)};
  }
};

template <Reduction reduction, class Type>
Type folded(Type a, Type b) {
  if constexpr (reduction == Reduction::kSum) return static_cast<Type>(a + b);
  return (a < b || b != b) ? b : a;
}

template <class Stored, Reduction reduction>
void fold(std::span<const void* const> parts, void* out, std::size_t count) {
  using Fold = Folded<Stored>;
  constexpr std::size_t kBlock = 1024;
  std::array<typename Fold::Type, kBlock> sums;
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t size = std::min(kBlock, count - begin);
    const auto* first = static_cast<const Stored*>(parts[0]) + begin;
    for (std::size_t i = 0; i < size; ++i) sums[i] = Fold::load(first[i]);
    for (const void* part : parts.subspan(1)) {
      const auto* values = static_cast<const Stored*>(part) + begin;
      for (std::size_t i = 0; i < size; ++i) {
        sums[i] = folded<reduction>(sums[i], Fold::load(values[i]));
      }
    }
    auto* target = static_cast<Stored*>(out) + begin;
    for (std::size_t i = 0; i < size; ++i) target[i] = Fold::store(sums[i]);
  }
}

template <class Stored>
void fold(std::span<const void* const> parts, void* out, std::size_t count, Reduction reduction) {
  if (reduction == Reduction::kSum) return fold<Stored, Reduction::kSum>(parts, out, count);
  fold<Stored, Reduction::kMax>(parts, out, count);
}

}  // namespace

std::size_t element_size(Element element) {
  switch (element) {
    case Element::kF32:
      return 4;
    case Element::kF64:
      return 8;
    case Element::kBf16:
      return 2;
    case Element::kI64:
      return 8;
    case Element::kU8:
      return 1;
  }
  return 0;
}

void fold_in_rank_order(std::span<const void* const> parts, void* out, std::size_t count,
                        Element element, Reduction reduction) {
  switch (element) {
    case Element::kF32:
      return fold<float>(parts, out, count, reduction);
    case Element::kF64:
      return fold<double>(parts, out, count, reduction);
    case Element::kBf16:
      return fold<Bf16>(parts, out, count, reduction);
    case Element::kI64:
      return fold<std::int64_t>(parts, out, count, reduction);
    case Element::kU8:
      return fold<std::uint8_t>(parts, out, count, reduction);
  }
}

}  // namespace omnibal::runtime
