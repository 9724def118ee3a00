// SPDX-License-Identifier: Apache-2.0
//
// LengthReader: the elements of one length list as samples, one by one. Private to the room.
#pragma once

#include <cstdint>
#include <string>

#include "corpus/length_row.h"
#include "corpus/lint.h"
#include "corpus/loading.h"
#include "corpus/row_reader.h"

namespace omnibal::corpus {

class LengthReader {
 public:
  /// `file`: as errors and findings name it.
  LengthReader(std::string file, LintLog& lint) : file_(std::move(file)), lint_(lint) {}

  /// Errors name file, row and key: those of LengthRowParser; kOutOfRange (too many blank tiles).
  Result<SampleLengths> read(const RowText& text);

 private:
  Error placed(Error error, const RowText& text) const;

  std::string file_;
  LintLog& lint_;
  LengthRowParser parser_;
};

}  // namespace omnibal::corpus
