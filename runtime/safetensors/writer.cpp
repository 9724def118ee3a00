// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/safetensors/writer.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <vector>

#include "omnibal/codec/atomic_write.h"
#include "omnibal/codec/json.h"
#include "safetensors/tensor_size.h"

namespace omnibal::runtime {
namespace {

namespace fs = std::filesystem;
using codec::Json;

Status check_tensors(std::span<const TensorView> tensors, const std::string& path) {
  std::set<std::string_view> names;
  for (const TensorView& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      return Error(ErrorCode::kDuplicateName, "two tensors have this name")
          .in_file(path)
          .at_key(tensor.name);
    }
    const auto size = static_cast<std::int64_t>(tensor.bytes.size());
    if (tensor_bytes(tensor.dtype, tensor.shape) != size) {
      return Error(ErrorCode::kMalformedSafetensors,
                   "type and shape of the tensor do not make as many bytes as it has")
          .in_file(path)
          .at_key(tensor.name)
          .with_value(size);
    }
  }
  return {};
}

/// Length and JSON, padded by spaces so that the data begin at a multiple of 8.
std::string header_of(std::span<const TensorView> tensors, const TensorMetadata& metadata) {
  constexpr std::size_t kAlignment = 8;
  Json document = Json::object();
  if (!metadata.empty()) document["__metadata__"] = metadata;
  std::int64_t offset = 0;
  for (const TensorView& tensor : tensors) {
    const std::int64_t end = offset + static_cast<std::int64_t>(tensor.bytes.size());
    Json& entry =
        document.get_ref<Json::object_t&>().Container::emplace_back(tensor.name, Json()).second;
    entry["dtype"] = name_of(tensor.dtype);
    entry["shape"] = tensor.shape;
    entry["data_offsets"] = {offset, end};
    offset = end;
  }
  std::string text = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  std::string length;
  for (std::uint64_t rest = text.size(); length.size() < kAlignment; rest >>= 8U) {
    length += static_cast<char>(rest & 0xffU);
  }
  return length + text;
}

/// Consecutive tensors a shard, as many as fit; one that is larger than a shard is alone in it.
std::vector<std::span<const TensorView>> split(std::span<const TensorView> tensors,
                                               std::int64_t max_bytes) {
  std::vector<std::span<const TensorView>> shards;
  std::size_t begin = 0;
  std::int64_t used = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto size = static_cast<std::int64_t>(tensors[i].bytes.size());
    if (i > begin && used + size > max_bytes) {
      shards.push_back(tensors.subspan(begin, i - begin));
      begin = i;
      used = 0;
    }
    used += size;
  }
  shards.push_back(tensors.subspan(begin));
  return shards;
}

Status check_no_weights(const fs::path& directory) {
  for (const char* const name : {"model.safetensors", "model.safetensors.index.json"}) {
    std::error_code ignored;
    if (!fs::exists(directory / name, ignored)) continue;
    return Error(ErrorCode::kWouldOverwrite, "the directory holds weights already")
        .in_file((directory / name).string())
        .with_hint("choose another directory, or remove them yourself");
  }
  return {};
}

}  // namespace

Status write_tensors(const std::string& path, std::span<const TensorView> tensors,
                     const TensorMetadata& metadata) {
  OMNIBAL_RETURN_IF_ERROR(check_tensors(tensors, path));
  const std::string header = header_of(tensors, metadata);
  std::vector<std::span<const std::byte>> pieces = {std::as_bytes(std::span(header))};
  for (const TensorView& tensor : tensors) pieces.push_back(tensor.bytes);
  return codec::write_file_atomically(path, pieces);
}

Status write_weights(const std::string& directory, std::span<const TensorView> tensors,
                     const ShardOptions& options) {
  const fs::path place = directory;
  OMNIBAL_RETURN_IF_ERROR(check_no_weights(place));
  OMNIBAL_RETURN_IF_ERROR(check_tensors(tensors, directory));
  const auto shards = split(tensors, options.max_shard_bytes);
  if (shards.size() == 1) {
    return write_tensors((place / "model.safetensors").string(), tensors, options.metadata);
  }
  Json weight_map = Json::object();
  std::int64_t total_bytes = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    OMNIBAL_RETURN_IF_ERROR(write_tensors((place / name).string(), shards[i], options.metadata));
    for (const TensorView& tensor : shards[i]) {
      weight_map[tensor.name] = name;
      total_bytes += static_cast<std::int64_t>(tensor.bytes.size());
    }
  }
  const Json index = {{"metadata", {{"total_size", total_bytes}}},
                      {"weight_map", std::move(weight_map)}};
  return codec::write_json((place / "model.safetensors.index.json").string(), index);
}

}  // namespace omnibal::runtime
