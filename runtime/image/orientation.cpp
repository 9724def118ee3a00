// SPDX-License-Identifier: Apache-2.0
#include "image/orientation.h"

#include <algorithm>
#include <array>

namespace omnibal::runtime {
namespace {

/// TIFF inside: byte order, 42, offset of the first directory; a directory is a count and entries
/// of tag, type, count, value (TIFF 6.0, section 2).
std::optional<std::uint32_t> orientation_in_exif(Bytes exif) {
  constexpr std::size_t kEntryBytes = 12;
  constexpr std::uint32_t kOrientationTag = 0x0112, kByte = 1, kShort = 3, kLong = 4;
  if (as_text(exif).starts_with(std::string_view("Exif\0\0", 6))) exif = exif.subspan(6);
  const bool little = as_text(exif).starts_with("II");
  if (!little && !as_text(exif).starts_with("MM")) return std::nullopt;
  const auto two = [&](std::size_t at) {
    return little ? little_endian<2>(exif, at) : big_endian<2>(exif, at);
  };
  const auto four = [&](std::size_t at) {
    return little ? little_endian<4>(exif, at) : big_endian<4>(exif, at);
  };
  const std::optional<std::uint32_t> directory = four(4);
  if (!directory) return std::nullopt;
  const std::uint32_t num_entries = two(*directory).value_or(0);
  for (std::size_t i = 0; i < num_entries; ++i) {
    const std::size_t entry = *directory + 2 + i * kEntryBytes;
    if (two(entry) != kOrientationTag) continue;
    switch (two(entry + 2).value_or(0)) {
      case kByte:
        return little_endian<1>(exif, entry + 8);
      case kShort:
        return two(entry + 8);
      case kLong:
        return four(entry + 8);
      default:
        return std::nullopt;
    }
  }
  return std::nullopt;
}

/// `tiff:Orientation="6"` or `<tiff:Orientation>6`.
int orientation_in_xmp(std::string_view xmp) {
  constexpr std::string_view kKey = "tiff:Orientation";
  for (std::size_t at = xmp.find(kKey); at != xmp.npos; at = xmp.find(kKey, at + 1)) {
    std::string_view rest = xmp.substr(at + kKey.size());
    if (rest.starts_with("=\"")) {
      rest.remove_prefix(2);
    } else if (rest.starts_with(">")) {
      rest.remove_prefix(1);
    } else {
      continue;
    }
    if (!rest.empty() && rest.front() >= '0' && rest.front() <= '9') return rest.front() - '0';
  }
  return 1;
}

/// Where the pixel of column x, row y comes from.
struct Source {
  bool swap_axes;  // first: column and row change places
  bool flip_columns;
  bool flip_rows;
};

/// By EXIF value from 1: rows 5..8 swap the axes and then look up in the flipped original.
constexpr std::array<Source, 8> kSources = {{{false, false, false},
                                             {false, true, false},
                                             {false, true, true},
                                             {false, false, true},
                                             {true, false, false},
                                             {true, false, true},
                                             {true, true, true},
                                             {true, true, false}}};

}  // namespace

int orientation_of(Bytes exif, std::string_view xmp) {
  const std::optional<std::uint32_t> found = orientation_in_exif(exif);
  const std::int64_t value = found ? std::int64_t{*found} : orientation_in_xmp(xmp);
  return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
}

Image apply_orientation(Image image, int orientation) {
  if (orientation == 1) return image;
  const Source source = kSources[static_cast<std::size_t>(orientation - 1)];
  Image upright(source.swap_axes ? image.height : image.width,
                source.swap_axes ? image.width : image.height);
  for (int y = 0; y < upright.height; ++y) {
    std::uint8_t* to = upright.row(y);
    for (int x = 0; x < upright.width; ++x, to += kChannels) {
      int column = source.swap_axes ? y : x;
      int row = source.swap_axes ? x : y;
      if (source.flip_columns) column = image.width - 1 - column;
      if (source.flip_rows) row = image.height - 1 - row;
      std::copy_n(image.row(row) + kChannels * column, kChannels, to);
    }
  }
  return upright;
}

}  // namespace omnibal::runtime
