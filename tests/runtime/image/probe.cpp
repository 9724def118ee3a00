// SPDX-License-Identifier: Apache-2.0
//
// Lets tests in Python look at the library's pixels: one call, one picture, raw bytes on stdout.
//
//   omnibal_image_probe resize W H NEW_W NEW_H [horizontal-first] <rgb >resized
//   omnibal_image_probe decode FILE [MAX_PIXELS] >"W H\n" and RGB
//   omnibal_image_probe fed FILE PROCESSOR MAX_TILES [horizontal-first] >"TILES SIZE\n" and float32
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "omnibal/runtime/image/decode.h"
#include "omnibal/runtime/image/preprocess.h"
#include "omnibal/runtime/image/resize.h"

namespace omnibal::runtime {
namespace {

using Arguments = std::vector<std::string>;

template <class T>
void write(const std::string& line, const std::vector<T>& values) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fwrite(values.data(), sizeof(T), values.size(), stdout);
}

int number(const Arguments& arguments, std::size_t index) {
  return std::atoi(arguments[index].c_str());
}

PassOrder pass_order(const Arguments& arguments, std::size_t index) {
  return arguments.size() > index ? PassOrder::kHorizontalFirst : PassOrder::kPillow13;
}

int report(const Error& error) {
  fmt::print(stderr, "{}\n{}", error_code_info(error.code).name, to_text(error));
  return error_code_info(error.code).exit_code;
}

int resize(const Arguments& arguments) {
  Image image(number(arguments, 1), number(arguments, 2));
  if (std::fread(image.pixels.data(), 1, image.pixels.size(), stdin) != image.pixels.size()) {
    return 1;
  }
  const Image resized =
      resize_bicubic(image, number(arguments, 3), number(arguments, 4), pass_order(arguments, 5));
  write("", resized.pixels);
  return 0;
}

int decode(const Arguments& arguments) {
  DecodeOptions options;
  if (arguments.size() > 2) options.max_pixels = number(arguments, 2);
  const Result<Image> image = load_image(arguments[1], options);
  if (!image) return report(image.error());
  write(fmt::format("{} {}\n", image->width, image->height), image->pixels);
  return 0;
}

int feed(const Arguments& arguments) {
  const Result<Image> image = load_image(arguments[1], {});
  if (!image) return report(image.error());
  Result<ImageProcessor> processor = read_image_processor(arguments[2]);
  if (!processor) return report(processor.error());
  processor->pass_order = pass_order(arguments, 4);
  const PixelValues fed = preprocess(*image, *processor, number(arguments, 3));
  write(fmt::format("{} {}\n", fed.tiles, fed.tile_size), fed.values);
  return 0;
}

int run(const Arguments& arguments) {
  if (arguments.size() >= 5 && arguments[0] == "resize") return resize(arguments);
  if (arguments.size() >= 2 && arguments[0] == "decode") return decode(arguments);
  if (arguments.size() >= 4 && arguments[0] == "fed") return feed(arguments);
  return 2;
}

}  // namespace
}  // namespace omnibal::runtime

int main(int argc, char** argv) { return omnibal::runtime::run({argv + 1, argv + argc}); }
