// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/stream_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "omnibal/plan/stream_state.h"
#include "sample_line.h"

namespace omnibal::plan {
namespace {

using codec::AppendFile;
using codec::Json;
using codec::JsonFields;

Status check_files(const StreamFiles& files) {
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
  std::error_code ignored;
  const std::string document = fmt::format("{}/{}", files.state, kStreamDocument);
  if (files.state.empty() || files.resume || !std::filesystem::exists(document, ignored)) return {};
  return Error(ErrorCode::kWouldOverwrite, "there is the state of a stream already")
      .in_file(files.state)
      .with_hint("go on with it by --resume, or remove it to begin anew");
}

Status check_rejections(const StreamFiles& files, const Json& notes) {
  if (!files.rejected.empty() || !notes.contains("rejected")) return {};
  return Error(ErrorCode::kConflictingKeys, "so far rejected samples were listed in a file")
      .in_file(files.state)
      .at_key("rejected")
      .with_hint("name that file with --rejected FILE again");
}

Json to_json(const AppendFile::Mark& mark) {
  return {{"bytes", mark.bytes}, {"tail_hash", mark.tail_hash}};
}

/// The file as `notes` left it under `key`; a new one where they left none.
Result<AppendFile> reopen(const std::string& path, const Json& notes, const std::string& key,
                          const std::string& state) {
  const JsonFields fields(notes, state, "notes");
  if (!fields.has(key)) return AppendFile::create(path);
  OMNIBAL_ASSIGN(const Json* object, fields.object(key));
  const JsonFields mark_fields(*object, state, "notes." + key);
  AppendFile::Mark mark;
  OMNIBAL_ASSIGN(mark.bytes, mark_fields.integer("bytes", 0, INT64_MAX));
  OMNIBAL_ASSIGN(mark.tail_hash, mark_fields.text("tail_hash"));
  return AppendFile::reopen(path, mark);
}

}  // namespace

StreamSession::StreamSession(const StreamFiles& files, StreamPlanner planner, AppendFile out,
                             std::optional<AppendFile> rejections)
    : files_(files),
      planner_(std::move(planner)),
      out_(std::move(out)),
      rejections_(std::move(rejections)),
      known_samples_(files.input_continues ? 0 : planner_.num_samples()) {}

Result<StreamSession> StreamSession::open(const StreamOptions& options, const StreamFiles& files) {
  OMNIBAL_RETURN_IF_ERROR(check_files(files));
  SavedStream saved{.state = {}, .notes = Json::object()};
  if (files.resume) {
    OMNIBAL_ASSIGN(saved, load_stream(files.state, options));
    OMNIBAL_RETURN_IF_ERROR(check_rejections(files, saved.notes));
  }
  OMNIBAL_ASSIGN(StreamPlanner planner, StreamPlanner::create(options, std::move(saved.state)));
  OMNIBAL_ASSIGN(AppendFile out, reopen(files.out, saved.notes, "out", files.state));
  std::optional<AppendFile> rejections;
  if (!files.rejected.empty()) {
    OMNIBAL_ASSIGN(rejections, reopen(files.rejected, saved.notes, "rejected", files.state));
  }
  StreamSession session(files, std::move(planner), std::move(out), std::move(rejections));
  OMNIBAL_RETURN_IF_ERROR(session.save());  // from here on there is something to resume
  return session;
}

Status StreamSession::take(const corpus::StreamedSample& sample) {
  if (passed_over_ < known_samples_) return pass_over(sample);
  if (planner_.finished()) return ended(sample);
  OMNIBAL_RETURN_IF_ERROR(write_steps());  // those that were left when the state was saved
  auto rejection = planner_.push({sample.id, sample.vision, sample.tokens});
  if (!rejection) {
    Error error = std::move(rejection).error();
    error.where.file = sample.source;
    error.where.row = sample.row;
    return error;
  }
  if (*rejection) OMNIBAL_RETURN_IF_ERROR(write_rejection(**rejection, sample));
  return write_steps();
}

Error StreamSession::ended(const corpus::StreamedSample& sample) const {
  return Error(ErrorCode::kOutOfRange,
               fmt::format("the stream has ended after {} samples, its steps are formed",
                           planner_.num_samples()))
      .in_file(std::string(sample.source))
      .at_row(sample.row)
      .with_limit(planner_.num_samples())
      .with_hint("begin a stream of its own with what follows");
}

Status StreamSession::pass_over(const corpus::StreamedSample& sample) {
  fingerprint_ = fold(fingerprint_, {sample.id, sample.vision, sample.tokens});
  if (++passed_over_ < known_samples_ || fingerprint_ == planner_.fingerprint()) return {};
  return Error(ErrorCode::kChecksumMismatch,
               fmt::format("the first {} samples are not those that the state was saved after",
                           known_samples_))
      .in_file(std::string(sample.source))
      .at_row(sample.row)
      .with_hint(
          "give the same input from its beginning; if it begins where the state stands, say "
          "so with --input-continues");
}

Status StreamSession::write_rejection(const pack::StreamRejection& rejection,
                                      const corpus::StreamedSample& sample) {
  auto known = std::ranges::find(rejected_, rejection.reason, &Rejected::reason);
  if (known == rejected_.end()) {
    known = rejected_.insert(known, {std::string(rejection.reason), std::string(sample.source),
                                     sample.row, rejection.value, rejection.limit, 0});
  }
  ++known->count;
  if (!rejections_) return {};
  return rejections_->append(rejection_line(sample.source, sample.row, rejection));
}

Status StreamSession::write_steps() {
  while (planner_.has_step()) {
    OMNIBAL_RETURN_IF_ERROR(out_.append(to_line(planner_.take(), planner_.options().steps.dp)));
    OMNIBAL_RETURN_IF_ERROR(out_.flush());
    if (++unsaved_steps_ >= files_.save_every) OMNIBAL_RETURN_IF_ERROR(save());
  }
  return {};
}

Status StreamSession::save() {
  if (files_.state.empty()) return {};
  Json notes = Json::object();
  OMNIBAL_ASSIGN(const AppendFile::Mark out, out_.sync());
  notes["out"] = to_json(out);
  if (rejections_) {
    OMNIBAL_ASSIGN(const AppendFile::Mark rejections, rejections_->sync());
    notes["rejected"] = to_json(rejections);
  }
  unsaved_steps_ = 0;
  return save_stream(planner_, notes, files_.state);
}

Status StreamSession::close() {
  if (passed_over_ < known_samples_) {
    return Error(ErrorCode::kOutOfRange, "the input ends before the samples that the state knows")
        .with_value(passed_over_)
        .with_limit(known_samples_)
        .with_hint(
            "give the same input from its beginning; if it begins where the state stands, "
            "say so with --input-continues");
  }
  if (!planner_.finished()) OMNIBAL_RETURN_IF_ERROR(planner_.finish());
  OMNIBAL_RETURN_IF_ERROR(write_steps());
  if (rejections_) OMNIBAL_RETURN_IF_ERROR(rejections_->flush());
  return save();
}

}  // namespace omnibal::plan
