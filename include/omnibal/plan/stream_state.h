// SPDX-License-Identifier: Apache-2.0
//
// The state of a stream on disk, in open formats (docs/formats/stream.md): a stream that is resumed
// from it goes on bit for bit as if it had never stopped.
//
//   OMNIBAL_RETURN_IF_ERROR(save_stream(planner, /*notes=*/{}, "state"));
//   OMNIBAL_ASSIGN(SavedStream saved, load_stream("state", options));
//   StreamPlanner::create(options, std::move(saved.state));
//   // samples from saved.state.packing.samples on
//
// Not the samples themselves and not the steps that were taken: whoever took them keeps them.
#pragma once

#include <string>
#include <string_view>

#include "omnibal/base/result.h"
#include "omnibal/codec/json.h"
#include "omnibal/plan/stream.h"

namespace omnibal::plan {

inline constexpr std::string_view kStreamFormat = "omnibal.stream";
inline constexpr std::int64_t kStreamVersion = 1;
inline constexpr std::string_view kStreamDocument = "stream.json";

/// Whether save_stream can write there: kWouldOverwrite over anything but a state, kWriteFailed.
Status check_stream_directory(const std::string& directory);

/// Writes the directory atomically, in place of an older state. `notes`, an object, is kept as it
/// is. O(held samples). Errors: kWriteFailed, kWouldOverwrite.
Status save_stream(const StreamPlanner& planner, const codec::Json& notes,
                   const std::string& directory);

struct SavedStream {
  StreamState state;
  codec::Json notes;
};

/// Errors: kFileNotFound (no state there), kFileUnreadable, kMalformedJson, kMalformedNpy,
/// kUnknownFormat, kUnsupportedVersion, kMissingKey, kWrongType, kOutOfRange; kChecksumMismatch (a
/// damaged file); kConflictingKeys (saved with other options; `where` names the first).
Result<SavedStream> load_stream(const std::string& directory, const StreamOptions& options);

}  // namespace omnibal::plan
