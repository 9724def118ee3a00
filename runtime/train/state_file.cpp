// SPDX-License-Identifier: Apache-2.0
#include "train/state_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "omnibal/codec/json.h"
#include "omnibal/runtime/model/weights.h"
#include "omnibal/runtime/safetensors/writer.h"

namespace omnibal::runtime {
namespace {

using codec::Json;

/// Parameters by name; StatePiece names them.
std::map<std::string_view, const Parameter*> by_name(const std::vector<Parameter>& parameters) {
  std::map<std::string_view, const Parameter*> names;
  for (const Parameter& parameter : parameters) names.emplace(parameter.name, &parameter);
  return names;
}

std::string to_text(const ShardPiece& piece) {
  return Json({{"shape", piece.shape},
               {"split", piece.split_dimension},
               {"held", {piece.held.begin, piece.held.count}},
               {"begin", piece.begin}})
      .dump();
}

Result<ShardPiece> parse_piece(const std::string& text, const std::string& path) {
  constexpr std::int64_t kMost = std::int64_t{1} << 48;
  OMNIBAL_ASSIGN(const Json document, codec::parse_json(text, path));
  const codec::JsonFields fields(document, path);
  ShardPiece piece;
  OMNIBAL_ASSIGN(piece.shape, fields.integers("shape", 0, kMost));
  OMNIBAL_ASSIGN(piece.split_dimension, fields.integer("split", 0, 64));
  OMNIBAL_ASSIGN(const std::vector<std::int64_t> held, fields.integers("held", 0, kMost));
  OMNIBAL_ASSIGN(piece.begin, fields.integer("begin", 0, kMost));
  if (held.size() != 2) {
    return Error(ErrorCode::kMalformedSafetensors, "held is not a begin and a count").in_file(path);
  }
  piece.held = {held[0], held[1]};
  return piece;
}

ShardPiece piece_of(const StatePiece& state, const Parameter& parameter) {
  return {parameter.shape, parameter.split_dimension, parameter.held, state.begin,
          state.values.numel()};
}

/// Products of the extents before and behind the dimension that is split.
struct Extents {
  std::int64_t outer = 1, inner = 1;
};
Extents extents_of(const ShardPiece& piece) {
  Extents extents;
  for (std::size_t d = 0; d < piece.shape.size(); ++d) {
    const auto dimension = static_cast<std::int64_t>(d);
    if (dimension < piece.split_dimension) extents.outer *= piece.shape[d];
    if (dimension > piece.split_dimension) extents.inner *= piece.shape[d];
  }
  return extents;
}

/// What both pieces hold, and marks it in `filled` (one an element of `to`).
void copy_overlap(const ShardPiece& from, const std::byte* source, const ShardPiece& to,
                  std::byte* target, std::size_t width, std::vector<bool>& filled) {
  const auto [outer, inner] = extents_of(to);
  const std::int64_t low = std::max(from.held.begin, to.held.begin);
  const std::int64_t count = (std::min(from.held.end(), to.held.end()) - low) * inner;
  for (std::int64_t o = 0; o < outer; ++o) {
    // First common element of this row, counted from the begin of each piece.
    const std::int64_t in_from = (o * from.held.count + low - from.held.begin) * inner - from.begin;
    const std::int64_t in_to = (o * to.held.count + low - to.held.begin) * inner - to.begin;
    const std::int64_t first = std::max({std::int64_t{0}, -in_from, -in_to});
    const std::int64_t end = std::min({count, from.size - in_from, to.size - in_to});
    if (first >= end) continue;
    std::memcpy(target + static_cast<std::size_t>(in_to + first) * width,
                source + static_cast<std::size_t>(in_from + first) * width,
                static_cast<std::size_t>(end - first) * width);
    std::fill(filled.begin() + in_to + first, filled.begin() + in_to + end, true);
  }
}

/// Of a piece whose shape is known to be right.
bool lies_within(const ShardPiece& piece) {
  const std::int64_t whole =
      piece.shape.empty() ? 1 : piece.shape[static_cast<std::size_t>(piece.split_dimension)];
  if (piece.held.begin > whole || piece.held.count > whole - piece.held.begin) return false;
  const auto [outer, inner] = extents_of(piece);
  const std::int64_t elements = outer * piece.held.count * inner;
  return piece.begin <= elements && piece.size <= elements - piece.begin;
}

}  // namespace

Status write_state_file(const std::string& path, Optimizer& optimizer,
                        const std::vector<Parameter>& parameters) {
  const auto names = by_name(parameters);
  std::vector<TensorView> views;
  TensorMetadata metadata;
  for (const StatePiece& state : optimizer.state()) {
    views.push_back(
        view_of(fmt::format("{}/{}", state.parameter, name_of(state.kind)), state.values));
    metadata[std::string(state.parameter)] = to_text(piece_of(state, *names.at(state.parameter)));
  }
  return write_tensors(path, views, metadata);
}

Result<StateFiles> StateFiles::open(const std::vector<std::string>& paths) {
  StateFiles files;
  files.files_.reserve(paths.size());  // sources point into it
  for (const std::string& path : paths) {
    OMNIBAL_ASSIGN(TensorFile opened, TensorFile::open(path));
    const TensorFile& file = files.files_.emplace_back(std::move(opened));
    for (const auto& [name, text] : file.metadata()) {
      OMNIBAL_ASSIGN(ShardPiece piece, parse_piece(text, path));
      OMNIBAL_ASSIGN(const TensorView values, file.find(name + "/master"));
      piece.size = values.shape.empty() ? 1 : values.shape[0];
      files.sources_[name].push_back({std::move(piece), &file});
    }
  }
  return files;
}

Status StateFiles::fill(Optimizer& optimizer, const std::vector<Parameter>& parameters) const {
  OMNIBAL_RETURN_IF_ERROR(check_trained(parameters));
  const auto names = by_name(parameters);
  for (const StatePiece& state : optimizer.state()) {
    OMNIBAL_RETURN_IF_ERROR(fill_piece(state, *names.at(state.parameter)));
  }
  return {};
}

Status StateFiles::check_trained(const std::vector<Parameter>& parameters) const {
  for (const Parameter& parameter : parameters) {
    const bool trains = parameter.tensor.requires_grad();
    if (parameter.tensor.numel() == 0 || trains == sources_.contains(parameter.name)) continue;
    return Error(ErrorCode::kMissingTensor,
                 trains ? "the checkpoint is of a training in which a parameter was frozen"
                        : "the checkpoint is of a training in which a parameter was not frozen")
        .at_key(parameter.name)
        .with_hint(
            "go on with the same optimizer.frozen, or begin a training with another "
            "checkpoint.dir from the exported model");
  }
  return {};
}

Status StateFiles::fill_piece(const StatePiece& state, const Parameter& parameter) const {
  const std::string name = fmt::format("{}/{}", state.parameter, name_of(state.kind));
  const ShardPiece to = piece_of(state, parameter);
  const TensorView own = view_of(name, state.values);
  std::vector<bool> filled(static_cast<std::size_t>(to.size));
  const auto found = sources_.find(state.parameter);
  if (found != sources_.end()) {
    for (const Source& source : found->second) {
      OMNIBAL_ASSIGN(const TensorView values, source.file->find(name));
      if (source.piece.shape != to.shape || source.piece.split_dimension != to.split_dimension) {
        return Error(ErrorCode::kConflictingKeys, "a parameter was saved with another shape")
            .at_key(name);
      }
      if (!lies_within(source.piece)) {
        return Error(ErrorCode::kMalformedSafetensors, "a state is larger than its parameter")
            .at_key(name);
      }
      if (values.dtype != own.dtype || static_cast<std::int64_t>(values.bytes.size()) !=
                                           source.piece.size * bytes_of(own.dtype)) {
        return Error(ErrorCode::kWrongType, "a state was saved in another precision").at_key(name);
      }
      copy_overlap(source.piece, values.bytes.data(), to,
                   static_cast<std::byte*>(state.values.mutable_data_ptr()),
                   static_cast<std::size_t>(bytes_of(own.dtype)), filled);
    }
  }
  const auto missing = std::ranges::count(filled, false);
  if (missing == 0) return {};
  return Error(ErrorCode::kMissingTensor, "the checkpoint lacks elements of a state")
      .at_key(name)
      .with_value(std::int64_t{missing})
      .with_limit(to.size);
}

}  // namespace omnibal::runtime
