// SPDX-License-Identifier: Apache-2.0
#include "corpus/length_reader.h"

#include <fmt/format.h>

namespace omnibal::corpus {
namespace {

constexpr std::int64_t kMaxDummy = UINT16_MAX;

/// The unit of the contract: image flag 0 marks blank tiles.
Result<SampleLengths> to_lengths(const LengthRow& row, std::int64_t index) {
  SampleLengths sample{.vision = static_cast<std::uint32_t>(row.vit_num),
                       .tokens = static_cast<std::uint32_t>(row.token_num),
                       .weight = row.weight};
  if (row.image_flags > 0) return sample;
  if (row.vit_num > kMaxDummy) {
    return Error(ErrorCode::kOutOfRange,
                 fmt::format("sample {}: {} blank tiles, at most {} are allowed", index,
                             row.vit_num, kMaxDummy))
        .at_row(index)
        .at_key("vit_num")
        .with_value(row.vit_num)
        .with_limit(kMaxDummy);
  }
  sample.dummy_vision = static_cast<std::uint16_t>(row.vit_num);
  return sample;
}

}  // namespace

Result<SampleLengths> LengthReader::read(const RowText& text) {
  Result<LengthRow> row = parser_.parse(text.text, text.row);
  if (!row.ok()) return placed(std::move(row).error(), text);
  if (row->image_flags > row->vit_num) {
    lint_.add(LintKind::kFlagsExceedTiles, [&] {
      return fmt::format("{} row {}: {} images are flagged, has {} tiles", file_, text.row,
                         row->image_flags, row->vit_num);
    });
  }
  Result<SampleLengths> lengths = to_lengths(*row, text.row);
  if (!lengths.ok()) return placed(std::move(lengths).error(), text);
  return lengths;
}

Error LengthReader::placed(Error error, const RowText& text) const {
  error.where.file = file_;
  if (error.code == ErrorCode::kMalformedJson) {
    error.message += fmt::format(" in what begins at line {}", text.line);
  }
  return error;
}

}  // namespace omnibal::corpus
