// SPDX-License-Identifier: Apache-2.0
//
// SampleStream: the samples of one input, handed on one by one as they are read: for inputs without
// end.
//
//   OMNIBAL_ASSIGN(SampleStream samples, SampleStream::open(parse_input("-"), {}, {}));
//   OMNIBAL_ASSIGN(const std::optional<StreamedSample> sample, samples.next());   // empty: the end
//   OMNIBAL_RETURN_IF_ERROR(session.take(*sample));
//
// Not for several sources: read_corpus (corpus.h) mixes and names them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "omnibal/corpus/corpus.h"

namespace omnibal::corpus {

/// Where the reading of a list stands, so that another input can continue it.
struct StreamPosition {
  std::int64_t rows = 0;      // that lie behind: the next row is called so
  std::int64_t copies = 0;    // of the next row that were given already
  std::uint64_t weights = 0;  // sum of the weights of the rows behind, in 2^-32, modulo 2^32

  friend bool operator==(const StreamPosition&, const StreamPosition&) = default;
};

struct StreamedSample {
  std::int64_t id = 0;        // row of a list, corpus index of other forms; on from the start given
  std::string_view source;    // its name
  std::int64_t row = 0;       // in the source: of a list the id
  std::string_view file;      // that it was read from, as errors name it
  std::int64_t file_row = 0;  // there, from 0
  std::uint32_t vision = 0;
  std::uint32_t tokens = 0;
  StreamPosition at;      // that waits for this sample
  StreamPosition behind;  // that waits for the next
};

class SampleStream {
 public:
  /// Opens the input and reads its first row. A length list, as JSON list or JSON Lines, from a
  /// file or a pipe, is never held: each sample is handed on as soon as its text is there. All
  /// other forms of read_corpus are read whole here (20 bytes a sample) and repeated or drawn from
  /// as there. A list alone is its whole epoch, so `options.mixture` gives it a seed for the
  /// weights of its rows and nothing more. Errors: those of read_corpus, with kEmptyInput where
  /// there is no sample.
  static Result<SampleStream> open(const Input& input, const ReadOptions& options,
                                   const Progress& progress);
  SampleStream(SampleStream&&) noexcept;
  SampleStream& operator=(SampleStream&&) noexcept;
  ~SampleStream();

  /// The first row is the one that `position` waits for. Before the first next().
  void continue_at(const StreamPosition& position);

  /// The next sample in corpus order, nothing at the end. What it views lives until the next call.
  /// Errors: those of read_corpus; position() is then that of the row that cannot be read.
  Result<std::optional<StreamedSample>> next();

  /// Behind the last sample given and all rows after it that were read and not wanted once.
  const StreamPosition& position() const;
  /// The files that are read, of a wrapper also those that it names.
  const std::vector<std::string>& files() const;
  /// What the rows read so far had that is odd but possible.
  std::vector<Finding> findings() const;

 private:
  struct State;
  explicit SampleStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace omnibal::corpus
