// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/safetensors/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include "omnibal/base/nearest_name.h"
#include "omnibal/codec/json.h"
#include "safetensors/header.h"

namespace omnibal::runtime {
namespace {

namespace fs = std::filesystem;
using codec::Json;

constexpr std::string_view kSingle = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";

Error missing_tensor(const std::string& path, const std::string& name) {
  return Error(ErrorCode::kMissingTensor, fmt::format("there is no tensor \"{}\"", name))
      .in_file(path)
      .at_key(name);
}

/// `weight_map` of an index: the file of every tensor, by name.
Result<std::map<std::string, std::string>> read_weight_map(const std::string& index) {
  OMNIBAL_ASSIGN(const Json document, codec::read_json(index));
  const codec::JsonFields fields(document, index);
  OMNIBAL_ASSIGN(const Json* weight_map, fields.object("weight_map"));
  const codec::JsonFields files(*weight_map, index, "weight_map");
  std::map<std::string, std::string> file_of;
  for (const auto& [name, value] : weight_map->items()) {
    OMNIBAL_ASSIGN(std::string file, files.text(name));
    if (file.empty() || file.find('/') != std::string::npos || file == "..") {
      return Error(ErrorCode::kOutOfRange, "the index names a file outside its directory")
          .in_file(index)
          .at_key(name)
          .with_value(std::move(file));
    }
    file_of.emplace(name, std::move(file));
  }
  return file_of;
}

/// The index or the one file that stands for `path`; transformers too takes the one file first.
std::string resolve(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path;
  const fs::path single = fs::path(path) / kSingle;
  const fs::path index = fs::path(path) / kIndex;
  return (fs::exists(single, ignored) || !fs::exists(index, ignored) ? single : index).string();
}

}  // namespace

Result<TensorFile> TensorFile::open(const std::string& path) {
  OMNIBAL_ASSIGN(codec::MappedFile mapped, codec::MappedFile::open(path));
  TensorFile file(std::move(mapped), path);
  OMNIBAL_ASSIGN(TensorHeader header, parse_tensor_header(file.file_.bytes(), path));
  file.tensors_ = std::move(header.tensors);
  file.metadata_ = std::move(header.metadata);
  for (std::size_t i = 0; i < file.tensors_.size(); ++i) {
    file.index_.emplace(file.tensors_[i].name, i);
  }
  return file;
}

Result<TensorView> TensorFile::find(const std::string& name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) return missing_tensor(path_, name);
  return tensors_[found->second];
}

Result<Weights> Weights::open(const std::string& path) {
  const std::string source = resolve(path);
  std::map<std::string, std::string> file_of;
  std::set<std::string> paths = {source};
  if (source.ends_with(".json")) {
    OMNIBAL_ASSIGN(file_of, read_weight_map(source));
    paths.clear();
    for (const auto& [name, file] : file_of) {
      paths.insert((fs::path(source).parent_path() / file).string());
    }
  }
  Weights weights;
  weights.path_ = source;
  for (const std::string& shard : paths) {
    OMNIBAL_ASSIGN(TensorFile file, TensorFile::open(shard));
    for (std::size_t i = 0; i < file.tensors().size(); ++i) {
      const std::string& name = file.tensors()[i].name;
      if (!weights.index_.emplace(name, std::pair(weights.files_.size(), i)).second) {
        return Error(ErrorCode::kDuplicateName, "a tensor of this name is in two files")
            .in_file(shard)
            .at_key(name);
      }
    }
    weights.files_.push_back(std::move(file));
  }
  for (const auto& [name, file] : file_of) {
    if (!weights.index_.contains(name)) return missing_tensor(file, name);
  }
  return weights;
}

std::vector<std::string> Weights::names() const {
  std::vector<std::string> names;
  for (const auto& [name, place] : index_) names.push_back(name);
  return names;
}

Result<TensorView> Weights::find(const std::string& name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) {
    return missing_tensor(path_, name)
        .with_hint(fmt::format("the nearest name is \"{}\"", nearest_name(name, names())));
  }
  const auto& [file, tensor] = found->second;
  return files_[file].tensors()[tensor];
}

}  // namespace omnibal::runtime
