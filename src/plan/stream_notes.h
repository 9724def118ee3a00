// SPDX-License-Identifier: Apache-2.0
//
// What a session keeps in the notes of the state: where its files end, where its input stands, and
// which samples were rejected first. Private to the room.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "omnibal/codec/append_file.h"
#include "omnibal/codec/json.h"
#include "omnibal/corpus/stream.h"
#include "omnibal/plan/stream_session.h"

namespace omnibal::plan {

struct StreamNotes {
  codec::AppendFile::Mark out;
  std::optional<codec::AppendFile::Mark> rejections;  // absent: they are not listed in a file
  corpus::StreamPosition input;
  std::vector<RejectedKind> rejected;
};

codec::Json to_json(const StreamNotes& notes);

/// `file`: of the state, as errors name it. Errors: kMissingKey, kWrongType, kOutOfRange.
Result<StreamNotes> read_stream_notes(const codec::Json& notes, const std::string& file);

}  // namespace omnibal::plan
