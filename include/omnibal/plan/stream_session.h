// SPDX-License-Identifier: Apache-2.0
//
// StreamSession: a stream with its files. Steps are written as they are formed, rejected samples
// listed, and the state is saved now and then, so that a killed process goes on where it was.
//
//   OMNIBAL_ASSIGN(StreamSession session, StreamSession::open(options, files));
//   OMNIBAL_RETURN_IF_ERROR(session.take(sample));   // for each sample
//   OMNIBAL_RETURN_IF_ERROR(session.close());
//
// Not for reading the samples: corpus/stream.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "omnibal/codec/append_file.h"
#include "omnibal/corpus/stream.h"
#include "omnibal/plan/stream.h"

namespace omnibal::plan {

struct StreamFiles {
  std::vector<std::string> inputs;  // what the samples are read from; "-": standard input
  std::string out;                  // a line a step; "-": standard output
  std::string rejected;             // a line a rejected sample; empty: not listed
  std::string state;                // directory; empty: the stream cannot be resumed
  std::int64_t save_every = 1000;   // steps
  bool resume = false;              // from `state`
  /// When resumed: the first sample is the one that the state waits for (StreamSession::position).
  /// Otherwise the input begins anew, and the samples that the state knows are compared with it and
  /// passed over.
  bool input_continues = false;
};

/// Touches nothing. Errors: kInvalidArgument (save_every below 1, resume without state, a file that
/// is written is also read, written for something else or lies in the state's directory);
/// kWouldOverwrite (there is a state already, and no resume).
Status check_stream_files(const StreamFiles& files);

/// {"step": 0, "packs": [[[ids] dp] micro_batches], "loads": [[[vision units, tokens, token
/// pairs] dp] micro_batches]} and a newline. O(samples of the step).
std::string to_line(const StreamStep& step, std::int64_t dp);

/// The first rejected sample of a reason, and how many there are.
struct RejectedKind {
  std::string reason, file;
  std::int64_t row = 0, value = 0, limit = 0, count = 0;  // row in the file, from 0
};

class StreamSession {
 public:
  /// What a file holds is replaced only once all of them and the state are found usable, and
  /// without a state not before the first line.
  /// Errors: check_stream_files; StreamPlanner::create; load_stream; check_stream_directory;
  /// AppendFile; kConflictingKeys (a file of rejected samples is given up, or comes too late).
  static Result<StreamSession> open(const StreamOptions& options, const StreamFiles& files);

  /// The next sample. Errors: StreamPlanner::push, with file and row, through break_off;
  /// kOutOfRange (the resumed stream has been closed); kChecksumMismatch (the input is not the one
  /// that the state was saved from); AppendFile.
  Status take(const corpus::StreamedSample& sample);

  /// The end of the input: writes all steps that are left and saves the state. Errors: as take,
  /// StreamPlanner::finish; kOutOfRange (the input ends before the state does).
  Status close();

  /// The input cannot be read on at `position`, because of `error`: saves what came before it.
  /// Returns the error, with a hint if there is something to resume, or that of saving.
  Error break_off(Error error, const corpus::StreamPosition& position);

  /// Writes the state, with everything written before on disk. Nothing without a state directory.
  Status save();

  const StreamPlanner& planner() const { return planner_; }
  /// Where the input goes on: of a stream that is resumed, in the input that it has read so far.
  const corpus::StreamPosition& position() const { return position_; }
  /// Of the whole stream, in the order in which the reasons appeared.
  const std::vector<RejectedKind>& rejected() const { return rejected_; }
  /// Whether the steps could not be written because nobody reads them any more.
  bool reader_gone() const { return out_.reader_gone(); }

 private:
  StreamSession(const StreamFiles& files, StreamPlanner planner, codec::AppendFile out);
  Error ended(const corpus::StreamedSample& sample) const;
  Status pass_over(const corpus::StreamedSample& sample);
  Status write_rejection(const pack::StreamRejection& rejection,
                         const corpus::StreamedSample& sample);
  Status write_steps();
  Error with_first_rejected(Error error) const;

  StreamFiles files_;
  StreamPlanner planner_;
  codec::AppendFile out_;
  std::optional<codec::AppendFile> rejections_;
  std::vector<RejectedKind> rejected_;
  corpus::StreamPosition position_;
  std::int64_t known_samples_ = 0;  // of the state, still to be passed over
  std::int64_t passed_over_ = 0;
  std::uint64_t fingerprint_ = StreamState::kNoSamples;  // of these
  std::int64_t unsaved_steps_ = 0;
};

}  // namespace omnibal::plan
