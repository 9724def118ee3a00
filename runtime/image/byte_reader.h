// SPDX-License-Identifier: Apache-2.0
//
// Numbers and texts in untrusted bytes: whatever lies outside reads as nothing. Private to images.
//
//   const std::optional<std::uint32_t> length = big_endian<4>(bytes, offset);
//
// Not for trusted memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace omnibal::runtime {

using Bytes = std::span<const std::byte>;

inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The part from `offset` of at most `size` bytes; empty beyond the end.
inline Bytes part_of(Bytes bytes, std::size_t offset, std::size_t size) {
  if (offset >= bytes.size()) return {};
  return bytes.subspan(offset, size < bytes.size() - offset ? size : bytes.size() - offset);
}

template <int kSize>
std::optional<std::uint32_t> big_endian(Bytes bytes, std::size_t offset) {
  const Bytes digits = part_of(bytes, offset, kSize);
  if (digits.size() < kSize) return std::nullopt;
  std::uint32_t value = 0;
  for (const std::byte digit : digits) value = value << 8 | std::to_integer<std::uint32_t>(digit);
  return value;
}

template <int kSize>
std::optional<std::uint32_t> little_endian(Bytes bytes, std::size_t offset) {
  const Bytes digits = part_of(bytes, offset, kSize);
  if (digits.size() < kSize) return std::nullopt;
  std::uint32_t value = 0;
  for (int i = kSize - 1; i >= 0; --i) {
    value = value << 8 | std::to_integer<std::uint32_t>(digits[static_cast<std::size_t>(i)]);
  }
  return value;
}

}  // namespace omnibal::runtime
