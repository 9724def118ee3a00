// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/image/resize.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace omnibal::runtime {
namespace {

// 8 bits of a pixel, and 2 more because coefficients may add up beyond 1 on the way.
constexpr int kPrecisionBits = 32 - 8 - 2;

/// Keys' cubic convolution with a = -0.5.
double bicubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
  return 0.0;
}

/// Which source pixels, with which weight, make each pixel of one axis.
struct Taps {
  struct Window {
    int first = 0;
    int count = 0;
  };
  std::vector<Window> windows;             // one an output pixel
  std::vector<std::int32_t> coefficients;  // [output pixels, stride]
  std::size_t stride = 0;

  const std::int32_t* of(int output) const {
    return coefficients.data() + static_cast<std::size_t>(output) * stride;
  }
};

std::int32_t to_fixed_point(double weight) {
  constexpr double kOne = 1 << kPrecisionBits;
  return static_cast<std::int32_t>(weight < 0 ? -0.5 + weight * kOne : 0.5 + weight * kOne);
}

/// Every operation and its order as in Pillow's Resample.c: the roundings are the contract.
Taps make_taps(int source_size, int size) {
  constexpr double kRadius = 2.0;
  const double scale = static_cast<double>(source_size) / size;
  const double filter_scale = std::max(scale, 1.0);
  const double support = kRadius * filter_scale;
  const double inverse = 1.0 / filter_scale;
  Taps taps;
  taps.stride = static_cast<std::size_t>(std::ceil(support)) * 2 + 1;
  taps.windows.resize(static_cast<std::size_t>(size));
  taps.coefficients.resize(static_cast<std::size_t>(size) * taps.stride);
  std::vector<double> weights(taps.stride);
  for (int output = 0; output < size; ++output) {
    const double center = (output + 0.5) * scale;
    const int first = std::max(static_cast<int>(center - support + 0.5), 0);
    const int end = std::min(static_cast<int>(center + support + 0.5), source_size);
    double sum = 0.0;
    for (int i = 0; i < end - first; ++i) {
      const double weight = bicubic((i + first - center + 0.5) * inverse);
      weights[static_cast<std::size_t>(i)] = weight;
      sum += weight;
    }
    std::int32_t* const row =
        taps.coefficients.data() + static_cast<std::size_t>(output) * taps.stride;
    for (int i = 0; i < end - first; ++i) {
      const double weight = weights[static_cast<std::size_t>(i)];
      row[i] = to_fixed_point(sum != 0.0 ? weight / sum : weight);
    }
    taps.windows[static_cast<std::size_t>(output)] = {first, end - first};
  }
  return taps;
}

std::uint8_t to_pixel(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kPrecisionBits, 0, 255));
}

constexpr std::int32_t kHalf = 1 << (kPrecisionBits - 1);

Image resize_width(const Image& image, int width) {
  if (width == image.width) return image;
  const Taps taps = make_taps(image.width, width);
  Image resized(width, image.height);
  for (int y = 0; y < image.height; ++y) {
    const std::uint8_t* const row = image.row(y);
    std::uint8_t* to = resized.row(y);
    for (int x = 0; x < width; ++x, to += kChannels) {
      const Taps::Window window = taps.windows[static_cast<std::size_t>(x)];
      const std::int32_t* const coefficients = taps.of(x);
      const std::uint8_t* from = row + static_cast<std::ptrdiff_t>(window.first) * kChannels;
      std::int32_t red = kHalf, green = kHalf, blue = kHalf;
      for (int i = 0; i < window.count; ++i, from += kChannels) {
        red += from[0] * coefficients[i];
        green += from[1] * coefficients[i];
        blue += from[2] * coefficients[i];
      }
      to[0] = to_pixel(red);
      to[1] = to_pixel(green);
      to[2] = to_pixel(blue);
    }
  }
  return resized;
}

Image resize_height(const Image& image, int height) {
  if (height == image.height) return image;
  const Taps taps = make_taps(image.height, height);
  Image resized(image.width, height);
  const std::size_t row_bytes = static_cast<std::size_t>(image.width) * kChannels;
  std::vector<std::int32_t> sums(row_bytes);
  for (int y = 0; y < height; ++y) {
    const Taps::Window window = taps.windows[static_cast<std::size_t>(y)];
    std::ranges::fill(sums, kHalf);
    for (int i = 0; i < window.count; ++i) {  // whole rows: the inner loop is a vector loop
      const std::uint8_t* const from = image.row(window.first + i);
      const std::int32_t coefficient = taps.of(y)[i];
      for (std::size_t k = 0; k < row_bytes; ++k) sums[k] += from[k] * coefficient;
    }
    std::ranges::transform(sums, resized.row(y), to_pixel);
  }
  return resized;
}

bool vertical_first(const Image& image, int width, int height) {
  const std::int64_t fewer_rows = std::int64_t{image.height} - height;
  const std::int64_t fewer_columns = std::int64_t{image.width} - width;
  return fewer_rows > 0 && fewer_rows > 2 * fewer_columns;
}

}  // namespace

Image resize_bicubic(const Image& image, int width, int height, PassOrder order) {
  assert(image.width > 0 && image.height > 0 && width > 0 && height > 0);
  if (order == PassOrder::kPillow13 && vertical_first(image, width, height)) {
    return resize_width(resize_height(image, height), width);
  }
  return resize_height(resize_width(image, width), height);
}

}  // namespace omnibal::runtime
