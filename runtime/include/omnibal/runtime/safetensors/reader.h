// SPDX-License-Identifier: Apache-2.0
//
// Safetensors files, memory-mapped: names, types, shapes and bytes. The header is checked whole
// before a byte of a tensor is handed out: every byte of the file belongs to exactly one tensor.
//
//   OMNIBAL_ASSIGN(const TensorFile file, TensorFile::open("model.safetensors"));
//   OMNIBAL_ASSIGN(const TensorView weight, file.find("lm_head.weight"));
//   weight.bytes.data();   // as long as `file` lives; maybe not aligned: copy, do not cast
//
// Not for values: NaN in a tensor passes. Not a tensor library: nothing is converted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/codec/files.h"
#include "omnibal/runtime/safetensors/dtype.h"

namespace omnibal::runtime {

struct TensorView {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;  // none negative; empty: a scalar
  std::span<const std::byte> bytes;
};

/// `__metadata__` of a file.
using TensorMetadata = std::map<std::string, std::string>;

class TensorFile {
 public:
  /// Errors: kFileNotFound, kFileUnreadable; kMalformedSafetensors with the tensor as `key`;
  /// kDuplicateName for a name that stands twice.
  static Result<TensorFile> open(const std::string& path);

  /// By place in the file.
  const std::vector<TensorView>& tensors() const { return tensors_; }
  const TensorMetadata& metadata() const { return metadata_; }
  /// Error: kMissingTensor.
  Result<TensorView> find(const std::string& name) const;

 private:
  TensorFile(codec::MappedFile file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  codec::MappedFile file_;
  std::string path_;
  std::vector<TensorView> tensors_;
  std::map<std::string, std::size_t> index_;
  TensorMetadata metadata_;
};

/// The weights of a model: `model.safetensors`, or the files that `model.safetensors.index.json`
/// names.
class Weights {
 public:
  /// `path`: a directory with one of the two, the index, or one file. Errors: those of
  /// TensorFile::open and read_json; kDuplicateName for a tensor in two files; kMissingTensor where
  /// index and files differ; kOutOfRange for an index that names a file outside its directory.
  static Result<Weights> open(const std::string& path);

  /// All names, sorted.
  std::vector<std::string> names() const;
  /// The view lives as long as this. Error: kMissingTensor, with the nearest name as hint.
  Result<TensorView> find(const std::string& name) const;

 private:
  std::string path_;
  std::vector<TensorFile> files_;
  std::map<std::string, std::pair<std::size_t, std::size_t>> index_;  // file, tensor in it
};

}  // namespace omnibal::runtime
