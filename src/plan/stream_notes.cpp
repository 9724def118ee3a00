// SPDX-License-Identifier: Apache-2.0
#include "plan/stream_notes.h"

#include <fmt/format.h>

namespace omnibal::plan {
namespace {

using codec::AppendFile;
using codec::Json;
using codec::JsonFields;
constexpr std::int64_t kMost = INT64_MAX;

Json mark_json(const AppendFile::Mark& mark) {
  return {{"bytes", mark.bytes}, {"tail_hash", mark.tail_hash}};
}

Json kind_json(const RejectedKind& kind) {
  return {{"reason", kind.reason}, {"count", kind.count}, {"file", kind.file},
          {"row", kind.row},       {"value", kind.value}, {"limit", kind.limit}};
}

Result<AppendFile::Mark> read_mark(const JsonFields& notes, const std::string& key,
                                   const std::string& file) {
  OMNIBAL_ASSIGN(const Json* object, notes.object(key));
  const JsonFields fields(*object, file, "notes." + key);
  AppendFile::Mark mark;
  OMNIBAL_ASSIGN(mark.bytes, fields.integer("bytes", 0, kMost));
  OMNIBAL_ASSIGN(mark.tail_hash, fields.text("tail_hash"));
  return mark;
}

Result<corpus::StreamPosition> read_position(const JsonFields& notes, const std::string& file) {
  OMNIBAL_ASSIGN(const Json* object, notes.object("input"));
  const JsonFields fields(*object, file, "notes.input");
  corpus::StreamPosition position;
  OMNIBAL_ASSIGN(position.rows, fields.integer("rows", 0, kMost));
  OMNIBAL_ASSIGN(position.copies, fields.integer("copies", 0, kMost));
  OMNIBAL_ASSIGN(const std::int64_t weights, fields.integer("weights", 0, UINT32_MAX));
  position.weights = static_cast<std::uint64_t>(weights);
  return position;
}

Result<RejectedKind> read_kind(const Json& object, std::size_t index, const std::string& file) {
  const JsonFields fields(object, file, fmt::format("notes.first_rejected[{}]", index));
  RejectedKind kind;
  OMNIBAL_ASSIGN(kind.reason, fields.text("reason"));
  OMNIBAL_ASSIGN(kind.file, fields.text("file"));
  for (const auto& [key, target] : {std::pair{"count", &kind.count},
                                    {"row", &kind.row},
                                    {"value", &kind.value},
                                    {"limit", &kind.limit}}) {
    OMNIBAL_ASSIGN(*target, fields.integer(key, 0, kMost));
  }
  return kind;
}

}  // namespace

Json to_json(const StreamNotes& notes) {
  Json rejected = Json::array();
  for (const RejectedKind& kind : notes.rejected) rejected.push_back(kind_json(kind));
  Json json = {{"out", mark_json(notes.out)},
               {"input",
                {{"rows", notes.input.rows},
                 {"copies", notes.input.copies},
                 {"weights", notes.input.weights}}},
               {"first_rejected", rejected}};
  if (notes.rejections) json["rejected"] = mark_json(*notes.rejections);
  return json;
}

Result<StreamNotes> read_stream_notes(const Json& notes, const std::string& file) {
  const JsonFields fields(notes, file, "notes");
  StreamNotes read;
  OMNIBAL_ASSIGN(read.out, read_mark(fields, "out", file));
  if (fields.has("rejected")) {
    OMNIBAL_ASSIGN(read.rejections, read_mark(fields, "rejected", file));
  }
  OMNIBAL_ASSIGN(read.input, read_position(fields, file));
  OMNIBAL_ASSIGN(const Json* kinds, fields.array("first_rejected"));
  for (const Json& kind : *kinds) {
    OMNIBAL_ASSIGN(RejectedKind parsed, read_kind(kind, read.rejected.size(), file));
    read.rejected.push_back(std::move(parsed));
  }
  return read;
}

}  // namespace omnibal::plan
