// SPDX-License-Identifier: Apache-2.0
//
// Whether the files of a stream can be what they are to be, before one of them is touched.
#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "omnibal/codec/same_file.h"
#include "omnibal/plan/stream_session.h"
#include "omnibal/plan/stream_state.h"

namespace omnibal::plan {
namespace {

Error refused(std::string message, const std::string& key, const std::string& file) {
  return Error(ErrorCode::kInvalidArgument, std::move(message))
      .in_file(file)
      .at_key(key)
      .with_hint("give it a name of its own");
}

std::string input_name(const std::string& path) { return path == "-" ? "/dev/stdin" : path; }
std::string output_name(const std::string& path) { return path == "-" ? "/dev/stdout" : path; }

/// `path` is written, unless it is empty; `key`: its name among the options.
Status check_output(const StreamFiles& files, const std::string& path, const std::string& key) {
  if (path.empty()) return {};
  for (const std::string& input : files.inputs) {
    if (codec::lies_in(output_name(path), input_name(input))) {
      return refused(
          fmt::format("what is to be written would take the place of the input {}", input), key,
          path);
    }
  }
  if (files.state.empty() || !codec::lies_in(output_name(path), files.state)) return {};
  return refused(
      fmt::format("a file in the state's directory {} is lost when a state is saved", files.state),
      key, path);
}

/// No two of the files are one.
Status check_apart(const StreamFiles& files) {
  OMNIBAL_RETURN_IF_ERROR(check_output(files, files.out, "out"));
  OMNIBAL_RETURN_IF_ERROR(check_output(files, files.rejected, "rejected"));
  for (const std::string& input : files.inputs) {
    if (!files.state.empty() && codec::lies_in(input_name(input), files.state)) {
      return refused(fmt::format("the state would take the place of the input {}", input), "state",
                     files.state);
    }
  }
  const bool both_stdout = files.out == "-" && files.rejected == "-";
  const bool one_file = !files.rejected.empty() &&
                        codec::is_same_file(output_name(files.out), output_name(files.rejected));
  if (!both_stdout && !one_file) return {};
  return refused("steps and rejected samples cannot go to one file", "rejected", files.rejected);
}

}  // namespace

Status check_stream_files(const StreamFiles& files) {
  if (files.save_every < 1) {
    return Error(ErrorCode::kInvalidArgument, "the state is saved every 1 or more steps")
        .at_key("save_every")
        .with_value(files.save_every)
        .with_limit(std::int64_t{1});
  }
  if (files.state.empty() && files.resume) {
    return Error(ErrorCode::kInvalidArgument, "there is no state to resume without its directory")
        .at_key("state")
        .with_hint("name it with --state DIR");
  }
  if (files.input_continues && !files.resume) {
    return Error(ErrorCode::kInvalidArgument, "only a resumed stream can go on with its input")
        .at_key("input_continues")
        .with_hint("add --resume");
  }
  OMNIBAL_RETURN_IF_ERROR(check_apart(files));
  std::error_code ignored;
  const std::string document = fmt::format("{}/{}", files.state, kStreamDocument);
  if (files.state.empty() || files.resume || !std::filesystem::exists(document, ignored)) return {};
  return Error(ErrorCode::kWouldOverwrite, "there is the state of a stream already")
      .in_file(files.state)
      .with_hint("go on with it by --resume, or remove it to begin anew");
}

}  // namespace omnibal::plan
