// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/data/prepared_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "omnibal/codec/json.h"

namespace omnibal::runtime {
namespace {

constexpr std::int64_t kLargestGrid = 1 << 12;  // tiles a side

Error wrong(const std::string& file, std::string what) {
  return Error(ErrorCode::kOutOfRange, std::move(what)).in_file(file);
}

/// `offsets` must cut `size` elements into `count` ranges.
Status check_offsets(std::span<const std::int64_t> offsets, std::size_t count, std::size_t size,
                     const std::string& file) {
  if (offsets.size() != count + 1 || offsets.front() != 0 ||
      offsets.back() != static_cast<std::int64_t>(size)) {
    return wrong(file, fmt::format("offsets must go from 0 to {} in {} steps", size, count));
  }
  const auto falls = std::ranges::adjacent_find(offsets, std::ranges::greater());
  if (falls == offsets.end()) return {};
  return wrong(file, "offsets fall").at_row(falls - offsets.begin());
}

template <class T>
std::span<const T> between(std::span<const T> all, std::span<const std::int64_t> offsets,
                           std::size_t index) {
  const auto begin = static_cast<std::size_t>(offsets[index]);
  return all.subspan(begin, static_cast<std::size_t>(offsets[index + 1]) - begin);
}

}  // namespace

template <class T>
Result<std::span<const T>> PreparedData::map(const std::string& path, std::size_t num_dimensions) {
  OMNIBAL_ASSIGN(codec::NpyFile file, codec::NpyFile::open(path));
  files_.push_back(std::move(file));
  return files_.back().as<T>(num_dimensions);
}

Result<PreparedData> PreparedData::open(const std::string& directory) {
  PreparedData data;
  OMNIBAL_RETURN_IF_ERROR(data.read_description(directory));
  OMNIBAL_RETURN_IF_ERROR(data.read_columns(directory));
  OMNIBAL_RETURN_IF_ERROR(data.read_rows(directory));
  OMNIBAL_RETURN_IF_ERROR(data.read_images(directory));
  OMNIBAL_RETURN_IF_ERROR(data.check_samples(directory));
  return data;
}

Status PreparedData::read_description(const std::string& directory) {
  const std::string path = directory + "/prepared.json";
  OMNIBAL_ASSIGN(const codec::Json document, codec::read_json(path));
  OMNIBAL_RETURN_IF_ERROR(codec::check_format(document, path, "omnibal.prepared", 1));
  const codec::JsonFields fields(document, path);
  OMNIBAL_ASSIGN(const std::int64_t tile_size, fields.integer("tile_size", 1, 1 << 14));
  OMNIBAL_ASSIGN(const std::int64_t token, fields.integer("image_token_id", 0, UINT32_MAX));
  tile_size_ = static_cast<int>(tile_size);
  image_token_ = static_cast<std::uint32_t>(token);
  return {};
}

Status PreparedData::read_columns(const std::string& directory) {
  OMNIBAL_ASSIGN(columns_.vision, map<std::uint32_t>(directory + "/vision.npy"));
  OMNIBAL_ASSIGN(columns_.dummy_vision, map<std::uint16_t>(directory + "/dummy_vision.npy"));
  OMNIBAL_ASSIGN(columns_.tokens, map<std::uint32_t>(directory + "/tokens.npy"));
  OMNIBAL_ASSIGN(columns_.source, map<std::uint16_t>(directory + "/source.npy"));
  OMNIBAL_ASSIGN(columns_.row, map<std::uint32_t>(directory + "/row.npy"));
  OMNIBAL_ASSIGN(prepared_row_, map<std::uint32_t>(directory + "/prepared_row.npy"));
  const std::size_t samples = prepared_row_.size();
  for (const std::size_t size :
       {columns_.vision.size(), columns_.dummy_vision.size(), columns_.tokens.size(),
        columns_.source.size(), columns_.row.size()}) {
    if (size != samples) return wrong(directory, "columns of different lengths");
  }
  return {};
}

Status PreparedData::read_rows(const std::string& directory) {
  const std::string offsets = directory + "/token_offsets.npy";
  OMNIBAL_ASSIGN(token_ids_, map<std::uint32_t>(directory + "/token_ids.npy"));
  OMNIBAL_ASSIGN(supervised_, map<std::uint8_t>(directory + "/token_supervised.npy"));
  OMNIBAL_ASSIGN(token_offsets_, map<std::int64_t>(offsets));
  if (supervised_.size() != token_ids_.size()) {
    return wrong(directory + "/token_supervised.npy", "another number of tokens than token_ids");
  }
  if (token_offsets_.empty()) return wrong(offsets, "no offset");
  return check_offsets(token_offsets_, token_offsets_.size() - 1, token_ids_.size(), offsets);
}

Status PreparedData::read_images(const std::string& directory) {
  const std::string offsets = directory + "/image_offsets.npy";
  const std::string path_offsets = directory + "/image_path_offsets.npy";
  OMNIBAL_ASSIGN(image_offsets_, map<std::int64_t>(offsets));
  OMNIBAL_ASSIGN(image_grids_, map<std::int32_t>(directory + "/image_grids.npy", 2));
  OMNIBAL_ASSIGN(path_offsets_, map<std::int64_t>(path_offsets));
  OMNIBAL_ASSIGN(image_paths_, map<std::uint8_t>(directory + "/image_paths.npy"));
  const std::size_t num_images = image_grids_.size() / 2;
  OMNIBAL_RETURN_IF_ERROR(
      check_offsets(image_offsets_, token_offsets_.size() - 1, num_images, offsets));
  OMNIBAL_RETURN_IF_ERROR(
      check_offsets(path_offsets_, num_images, image_paths_.size(), path_offsets));
  const bool grids_fit = std::ranges::all_of(
      image_grids_, [](std::int32_t side) { return side >= 1 && side <= kLargestGrid; });
  if (!grids_fit) {
    return wrong(directory + "/image_grids.npy", "a grid has no tiles");
  }
  return {};
}

Status PreparedData::check_samples(const std::string& directory) const {
  for (std::size_t s = 0; s < prepared_row_.size(); ++s) {
    const std::size_t row = prepared_row_[s];
    const bool fits = row + 1 < token_offsets_.size() &&
                      token_offsets_[row + 1] - token_offsets_[row] == columns_.tokens[s];
    if (fits) continue;
    return wrong(directory + "/prepared_row.npy", "a sample's row has other tokens than the sample")
        .at_row(static_cast<std::int64_t>(s))
        .with_value(std::int64_t{prepared_row_[s]});
  }
  return {};
}

PreparedRow PreparedData::row_of(std::int64_t sample) const {
  const std::size_t row = prepared_row_[static_cast<std::size_t>(sample)];
  PreparedRow result = {
      between(token_ids_, token_offsets_, row), between(supervised_, token_offsets_, row), {}};
  const auto end = static_cast<std::size_t>(image_offsets_[row + 1]);
  for (auto i = static_cast<std::size_t>(image_offsets_[row]); i < end; ++i) {
    const std::span<const std::uint8_t> path = between(image_paths_, path_offsets_, i);
    result.images.push_back(
        {std::string(path.begin(), path.end()), {image_grids_[2 * i], image_grids_[2 * i + 1]}});
  }
  return result;
}

}  // namespace omnibal::runtime
