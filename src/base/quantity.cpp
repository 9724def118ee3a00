// SPDX-License-Identifier: Apache-2.0
#include "omnibal/base/quantity.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace omnibal {
namespace {

struct ByteUnit {
  std::string_view name;
  double bytes;
};

constexpr std::array kByteUnits = {
    ByteUnit{"", 1},         ByteUnit{"B", 1},        ByteUnit{"kB", 1e3},
    ByteUnit{"KB", 1e3},     ByteUnit{"MB", 1e6},     ByteUnit{"GB", 1e9},
    ByteUnit{"TB", 1e12},    ByteUnit{"KiB", 0x1p10}, ByteUnit{"MiB", 0x1p20},
    ByteUnit{"GiB", 0x1p30}, ByteUnit{"TiB", 0x1p40},
};

Error not_a_size(std::string_view text) {
  return Error(ErrorCode::kInvalidArgument, "not a size in bytes")
      .with_value(std::string(text))
      .with_hint("write a positive number with a unit: 70GB (10^9 bytes) or 70GiB (2^30)");
}

}  // namespace

Result<std::int64_t> parse_bytes(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || !(number >= 0)) return not_a_size(text);
  std::string_view unit_name(rest, static_cast<std::size_t>(end - rest));
  while (unit_name.starts_with(' ')) unit_name.remove_prefix(1);
  for (const ByteUnit& unit : kByteUnits) {
    if (unit.name != unit_name) continue;
    const double bytes = std::round(number * unit.bytes);
    if (bytes >= 0x1p63) return not_a_size(text);
    return static_cast<std::int64_t>(bytes);
  }
  return not_a_size(text);
}

std::string format_bytes(std::int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  for (const auto& [name, size] :
       {ByteUnit{"TB", 1e12}, ByteUnit{"GB", 1e9}, ByteUnit{"MB", 1e6}, ByteUnit{"kB", 1e3}}) {
    if (std::fabs(value) >= size) return fmt::format("{:.3g} {}", value / size, name);
  }
  return fmt::format("{} B", bytes);
}

std::string format_seconds(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 120) return fmt::format("{:.3g} s", seconds);
  const auto minutes = static_cast<std::int64_t>(std::round(seconds / 60));
  if (minutes < 120) return fmt::format("{} min", minutes);
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string counted(std::int64_t count, std::string_view one) {
  const char* const ending = count == 1 ? "" : one.ends_with("ch") ? "es" : "s";
  return fmt::format("{} {}{}", count, one, ending);
}

}  // namespace omnibal
