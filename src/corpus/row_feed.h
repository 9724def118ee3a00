// SPDX-License-Identifier: Apache-2.0
//
// RowFeed: the rows of one input one after the other, whatever its form. Private to the room.
//
//   OMNIBAL_ASSIGN(const std::unique_ptr<RowFeed> feed, open_feed(input, options, progress));
//   OMNIBAL_ASSIGN(const std::optional<FedRow> row, feed->next());    // empty at the end
//
// Not for drawing from them: stream.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "corpus/drawing.h"
#include "omnibal/corpus/corpus.h"

namespace omnibal::corpus {

struct FedRow {
  std::string_view source;  // lives as long as the feed, as `file` does
  std::string_view file;
  std::int64_t row = 0;  // in the source, from 0
  std::uint32_t vision = 0;
  std::uint32_t tokens = 0;
  RowWeight weight = kUnitWeight;
};

class RowFeed {
 public:
  virtual ~RowFeed() = default;
  virtual Result<std::optional<FedRow>> next() = 0;
  /// Whether the rows are those of one list, so that another one can go on with it.
  virtual bool is_list() const = 0;
  virtual std::vector<Finding> findings() const = 0;
  const std::vector<std::string>& files() const { return files_; }

 protected:
  explicit RowFeed(std::vector<std::string> files) : files_(std::move(files)) {}

 private:
  std::vector<std::string> files_;
};

/// Of a list nothing but the form is known then; all other forms have been read whole, repeated and
/// drawn from. Errors: those of read_corpus.
Result<std::unique_ptr<RowFeed>> open_feed(const Input& input, const ReadOptions& options,
                                           const Progress& progress);

}  // namespace omnibal::corpus
