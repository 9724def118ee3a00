// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/stream_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "omnibal/plan/stream_state.h"
#include "plan/stream_notes.h"
#include "sample_line.h"

namespace omnibal::plan {
namespace {

using codec::AppendFile;

/// What was listed is listed on; what was not cannot be listed any more.
Status check_rejections(const StreamFiles& files, const StreamNotes& notes) {
  const bool was_listed = notes.rejections.has_value();
  const bool none_to_list = !was_listed && notes.rejected.empty();
  if (was_listed == !files.rejected.empty() || none_to_list) return {};
  return Error(ErrorCode::kConflictingKeys, was_listed
                                                ? "so far rejected samples were listed in a file"
                                                : "so far rejected samples were not listed")
      .in_file(files.state)
      .at_key("rejected")
      .with_hint(was_listed ? "name that file with --rejected FILE again"
                            : "go on without --rejected, or begin anew in another directory");
}

struct SessionStart {
  StreamState state;
  StreamNotes notes;
};

/// From the beginning, or from the state.
Result<SessionStart> start_of(const StreamOptions& options, const StreamFiles& files) {
  if (!files.resume) return SessionStart();
  OMNIBAL_ASSIGN(SavedStream saved, load_stream(files.state, options));
  OMNIBAL_ASSIGN(StreamNotes notes, read_stream_notes(saved.notes, fmt::format("{}/{}", files.state,
                                                                               kStreamDocument)));
  OMNIBAL_RETURN_IF_ERROR(check_rejections(files, notes));
  return SessionStart{std::move(saved.state), std::move(notes)};
}

}  // namespace

StreamSession::StreamSession(const StreamFiles& files, StreamPlanner planner, AppendFile out)
    : files_(files),
      planner_(std::move(planner)),
      out_(std::move(out)),
      known_samples_(files.input_continues ? 0 : planner_.num_samples()) {}

Result<StreamSession> StreamSession::open(const StreamOptions& options, const StreamFiles& files) {
  OMNIBAL_RETURN_IF_ERROR(check_stream_files(files));
  OMNIBAL_ASSIGN(SessionStart start, start_of(options, files));
  OMNIBAL_ASSIGN(StreamPlanner planner, StreamPlanner::create(options, std::move(start.state)));
  if (!files.state.empty()) OMNIBAL_RETURN_IF_ERROR(check_stream_directory(files.state));
  const StreamNotes& notes = start.notes;
  OMNIBAL_ASSIGN(AppendFile out, files.resume ? AppendFile::reopen(files.out, notes.out)
                                              : AppendFile::create(files.out));
  StreamSession session(files, std::move(planner), std::move(out));
  if (!files.rejected.empty()) {
    OMNIBAL_ASSIGN(session.rejections_, notes.rejections
                                            ? AppendFile::reopen(files.rejected, *notes.rejections)
                                            : AppendFile::create(files.rejected));
  }
  session.position_ = notes.input;
  session.rejected_ = notes.rejected;
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
    error.where.file = sample.file;
    error.where.row = sample.file_row;
    return break_off(std::move(error), sample.at);
  }
  position_ = sample.behind;
  if (*rejection) OMNIBAL_RETURN_IF_ERROR(write_rejection(**rejection, sample));
  return write_steps();
}

Error StreamSession::break_off(Error error, const corpus::StreamPosition& position) {
  const bool knows_better = passed_over_ < known_samples_ || planner_.finished();
  if (files_.state.empty() || knows_better) return error;
  position_ = position;
  if (Status saved = save(); !saved.ok()) return std::move(saved).error();
  if (planner_.num_samples() == 0) return error;
  error.hint += fmt::format("{}what came before it is saved: repair it and go on with --resume",
                            error.hint.empty() ? "" : "; ");
  return error;
}

Error StreamSession::ended(const corpus::StreamedSample& sample) const {
  return Error(ErrorCode::kOutOfRange,
               fmt::format("the stream has ended after {} samples, its steps are formed",
                           planner_.num_samples()))
      .in_file(std::string(sample.file))
      .at_row(sample.file_row)
      .with_limit(planner_.num_samples())
      .with_hint("begin a stream of its own with what follows");
}

Status StreamSession::pass_over(const corpus::StreamedSample& sample) {
  fingerprint_ = fold(fingerprint_, {sample.id, sample.vision, sample.tokens});
  if (++passed_over_ < known_samples_ || fingerprint_ == planner_.fingerprint()) return {};
  return Error(ErrorCode::kChecksumMismatch,
               fmt::format("the first {} samples are not those that the state was saved after",
                           known_samples_))
      .in_file(std::string(sample.file))
      .at_row(sample.file_row)
      .with_hint(
          "give the same input from its beginning; if it begins where the state stands, say "
          "so with --input-continues");
}

Status StreamSession::write_rejection(const pack::StreamRejection& rejection,
                                      const corpus::StreamedSample& sample) {
  auto known = std::ranges::find(rejected_, rejection.reason, &RejectedKind::reason);
  if (known == rejected_.end()) {
    known = rejected_.insert(known, {.reason = std::string(rejection.reason),
                                     .file = std::string(sample.file),
                                     .row = sample.file_row,
                                     .value = rejection.value,
                                     .limit = rejection.limit});
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
  StreamNotes notes;
  notes.input = position_;
  notes.rejected = rejected_;
  OMNIBAL_ASSIGN(notes.out, out_.sync());
  if (rejections_) {
    OMNIBAL_ASSIGN(notes.rejections, rejections_->sync());
  }
  unsaved_steps_ = 0;
  return save_stream(planner_, to_json(notes), files_.state);
}

/// kNothingUsable because all samples were rejected, told with the first of them.
Error StreamSession::with_first_rejected(Error error) const {
  std::int64_t count = 0;
  for (const RejectedKind& kind : rejected_) count += kind.count;
  if (rejected_.empty() || count < planner_.num_samples()) return error;
  const RejectedKind& first = rejected_.front();
  return pack::nothing_usable(planner_.num_samples(),
                              {first.row, first.reason, first.value, first.limit})
      .in_file(first.file);
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
  if (!planner_.finished()) {
    if (Status finished = planner_.finish(); !finished.ok()) {
      return with_first_rejected(std::move(finished).error());
    }
  }
  OMNIBAL_RETURN_IF_ERROR(write_steps());
  OMNIBAL_RETURN_IF_ERROR(out_.finish());
  if (rejections_) OMNIBAL_RETURN_IF_ERROR(rejections_->finish());
  return save();
}

}  // namespace omnibal::plan
