// SPDX-License-Identifier: Apache-2.0
//
// ConfigPart: one object of a Hugging Face configuration, read with checks. A JSON null counts as
// absent, as transformers has it.
//
//   OMNIBAL_ASSIGN(const ConfigPart text, root.part("text_config"));
//   OMNIBAL_ASSIGN(const std::int64_t width, text.size("hidden_size"));
//   OMNIBAL_ASSIGN(const bool biased, text.flag_or("attention_bias", false));
//
// Not for files of ours, in which a null is an error: codec/json.h.
#pragma once

#include <string>
#include <string_view>

#include "omnibal/codec/json.h"

namespace omnibal::model {

class ConfigPart {
 public:
  /// `object` must outlive this. `path`: its place in the file, "text_config"; empty: the root.
  ConfigPart(const codec::Json& object, std::string file, std::string path = "")
      : object_(&object), file_(std::move(file)), path_(std::move(path)) {}

  bool given(std::string_view key) const;

  /// A size: a whole number from 1 to 2^24.
  Result<std::int64_t> size(std::string_view key) const;
  /// A number of layers: far above any model's, small enough to list them.
  Result<std::int64_t> layer_count(std::string_view key) const;
  Result<std::int64_t> size_or(std::string_view key, std::int64_t fallback) const;
  Result<std::int64_t> integer_or(std::string_view key, std::int64_t fallback) const;
  Result<double> number_or(std::string_view key, double fallback, double min, double max) const;
  Result<bool> flag_or(std::string_view key, bool fallback) const;
  Result<std::string> text_or(std::string_view key, std::string_view fallback) const;
  Result<std::vector<std::int64_t>> integers(std::string_view key, std::int64_t min,
                                             std::int64_t max) const;
  Result<std::vector<std::string>> texts(std::string_view key) const;
  /// The side of a square in pixels, written 448 or [448, 448].
  Result<std::int64_t> square_side(std::string_view key) const;
  /// A member that is an object itself.
  Result<ConfigPart> part(std::string_view key) const;
  bool is_list(std::string_view key) const;

  Error problem(ErrorCode code, std::string_view key, std::string message) const;

 private:
  codec::JsonFields fields() const { return codec::JsonFields(*object_, file_, path_); }
  std::string place(std::string_view key) const;

  const codec::Json* object_;
  std::string file_;
  std::string path_;
};

}  // namespace omnibal::model
