// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <optional>
#include <string_view>

#include "omnibal/codec/json.h"
#include "omnibal/runtime/image/preprocess.h"

namespace omnibal::runtime {
namespace {

using codec::Json;
using codec::JsonFields;

constexpr double kLargest = 1e6;

Error unsupported(const std::string& file, std::string_view key, const Json& value,
                  std::string limit) {
  return Error(ErrorCode::kUnsupportedModel, "the image processor does what is not done here")
      .in_file(file)
      .at_key(std::string(key))
      .with_value(value.dump())
      .with_limit(std::move(limit));
}

/// Keys that must have one value, or be absent or null, because the other ways are not built.
Status check_steps(const Json& document, const std::string& file) {
  struct Only {
    std::string_view key;
    Json value;
  };
  constexpr int kBicubic = 3;
  const Only only[] = {{"do_resize", true},
                       {"do_rescale", true},
                       {"do_normalize", true},
                       {"do_center_crop", false},
                       {"do_pad", false},
                       {"resample", kBicubic},
                       {"data_format", "channels_first"}};
  for (const auto& [key, value] : only) {
    const auto found = document.find(key);
    if (found == document.end() || found->is_null() || *found == value) continue;
    return unsupported(file, key, *found, value.dump());
  }
  return {};
}

/// Null is as good as absent: processors write all their keys.
bool is_set(const Json& document, std::string_view key) {
  const auto found = document.find(key);
  return found != document.end() && !found->is_null();
}

Status read_size(const Json& document, const std::string& file, TilingOptions& tiling) {
  constexpr std::int64_t kMaxSide = 1 << 14;
  const JsonFields fields(document, file);
  OMNIBAL_ASSIGN(const Json* size, fields.object("size"));
  const JsonFields sides(*size, file, "size");
  if (!sides.has("height") || !sides.has("width")) {
    return unsupported(file, "size", *size, "height and width");
  }
  OMNIBAL_ASSIGN(const std::int64_t height, sides.integer("height", 1, kMaxSide));
  OMNIBAL_ASSIGN(const std::int64_t width, sides.integer("width", 1, kMaxSide));
  if (height != width) return unsupported(file, "size", *size, "equal sides");
  tiling.tile_size = static_cast<int>(height);
  return {};
}

Status read_tiles(const Json& document, const std::string& file, TilingOptions& tiling) {
  constexpr std::int64_t kMaxTiles = 1024;
  const JsonFields fields(document, file);
  if (is_set(document, "min_patches")) {
    OMNIBAL_ASSIGN(const std::int64_t least, fields.integer("min_patches", 1, kMaxTiles));
    tiling.min_tiles = static_cast<int>(least);
  }
  if (is_set(document, "max_patches")) {
    OMNIBAL_ASSIGN(const std::int64_t most,
                   fields.integer("max_patches", tiling.min_tiles, kMaxTiles));
    tiling.max_tiles = static_cast<int>(most);
  }
  return {};
}

/// One number a channel.
Status read_channels(const Json& document, const std::string& file, std::string_view key,
                     double least, std::array<float, kChannels>& into) {
  const JsonFields fields(document, file);
  OMNIBAL_ASSIGN(const Json* numbers, fields.array(key));
  if (numbers->size() != kChannels) return unsupported(file, key, *numbers, "three numbers");
  for (std::size_t channel = 0; channel < kChannels; ++channel) {
    const Json& number = (*numbers)[channel];
    const bool fits =
        number.is_number() && number.get<double>() >= least && number.get<double>() <= kLargest;
    if (!fits) return unsupported(file, key, *numbers, "numbers in range");
    into[channel] = static_cast<float>(number.get<double>());
  }
  return {};
}

Result<ImageProcessor> parse_image_processor(const Json& document, const std::string& file) {
  constexpr double kLeastDeviation = 1e-6;
  if (!document.is_object()) {
    return Error(ErrorCode::kWrongType, "an image processor is a JSON object").in_file(file);
  }
  ImageProcessor processor;
  OMNIBAL_RETURN_IF_ERROR(check_steps(document, file));
  OMNIBAL_RETURN_IF_ERROR(read_size(document, file, processor.tiling));
  OMNIBAL_RETURN_IF_ERROR(read_tiles(document, file, processor.tiling));
  OMNIBAL_RETURN_IF_ERROR(read_channels(document, file, "image_mean", -kLargest, processor.mean));
  OMNIBAL_RETURN_IF_ERROR(
      read_channels(document, file, "image_std", kLeastDeviation, processor.std_deviation));
  if (is_set(document, "rescale_factor")) {
    OMNIBAL_ASSIGN(processor.rescale_factor,
                   JsonFields(document, file).number("rescale_factor", 1e-9, kLargest));
  }
  return processor;
}

}  // namespace

Result<ImageProcessor> read_image_processor(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  std::string file = path;
  if (fs::is_directory(path, ignored)) {
    const fs::path own = fs::path(path) / "preprocessor_config.json";
    const fs::path joint = fs::path(path) / "processor_config.json";
    file = (fs::exists(own, ignored) || !fs::exists(joint, ignored) ? own : joint).string();
  }
  OMNIBAL_ASSIGN(const Json document, codec::read_json(file));
  const auto inner = document.find("image_processor");  // of a processor_config.json
  return parse_image_processor(inner != document.end() ? *inner : document, file);
}

}  // namespace omnibal::runtime
