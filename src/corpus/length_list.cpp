// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "corpus/input_forms.h"
#include "corpus/length_row.h"
#include "omnibal/codec/json.h"

namespace omnibal::corpus {
namespace {

constexpr std::int64_t kMaxDummy = UINT16_MAX;

/// The unit of the contract: image flag 0 marks blank tiles.
Result<SampleLengths> to_lengths(const LengthRow& row, std::int64_t index) {
  SampleLengths sample{.vision = static_cast<std::uint32_t>(row.vit_num),
                       .tokens = static_cast<std::uint32_t>(row.token_num)};
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

/// Reads the rows of one source, one by one.
class ListReader {
 public:
  ListReader(Loading& loading, const RowReader& reader) : loading_(loading), reader_(reader) {}

  Status add(const RowText& text) {
    Result<LengthRow> row = parser_.parse(text.text, text.row);
    if (!row.ok()) return placed(std::move(row).error(), text);
    if (row->image_flags > row->vit_num) {
      loading_.lint.add(LintKind::kFlagsExceedTiles, [&] {
        return fmt::format("{} row {}: {} images are flagged, has {} tiles", reader_.name(),
                           text.row, row->image_flags, row->vit_num);
      });
    }
    Result<SampleLengths> lengths = to_lengths(*row, text.row);
    if (!lengths.ok()) return placed(std::move(lengths).error(), text);
    add_sample(loading_, *lengths, row->weight);
    return {};
  }

 private:
  Error placed(Error error, const RowText& text) const {
    error.where.file = reader_.name();
    if (error.code == ErrorCode::kMalformedJson) {
      error.message += fmt::format(" in what begins at line {}", text.line);
    }
    return error;
  }

  Loading& loading_;
  const RowReader& reader_;
  LengthRowParser parser_;
};

/// The rows of one source, of which the reader has given `row` already.
Status read_rows(Loading& loading, Source source, std::optional<RowText> row, RowReader& reader) {
  if (!row) {
    const bool blank = reader.is_blank();
    return Error(ErrorCode::kEmptyInput, blank ? "the file is empty" : "the list holds no sample")
        .in_file(reader.name());
  }
  const std::string path = source.path;
  OMNIBAL_RETURN_IF_ERROR(use_unit(loading, VisionUnit{}, path));
  OMNIBAL_RETURN_IF_ERROR(begin_source(loading, std::move(source)));
  ListReader list(loading, reader);
  while (row) {
    OMNIBAL_RETURN_IF_ERROR(list.add(*row));
    OMNIBAL_ASSIGN(row, reader.next());
  }
  loading.corpus.sources.back().hash = reader.hash();
  loading.inputs.push_back({path, reader.hash()});
  loading.corpus.supervised_is_estimate = true;
  return end_source(loading);
}

/// Whether an object that stands alone in its file is one sample (else it is a wrapper).
bool is_single_row(std::string_view text, const std::string& file) {
  const Result<codec::Json> object = codec::parse_json(text, file);
  if (!object.ok()) {
    const bool of_a_row = is_length_key(object.error().where.key);
    return object.error().code != ErrorCode::kDuplicateKey || of_a_row;
  }
  for (const auto& member : object->get_ref<const codec::Json::object_t&>()) {
    if (is_length_key(member.first)) return true;
  }
  return false;
}

/// `first`: what the reader gave first.
bool is_wrapper(const RowReader& reader, const std::optional<RowText>& first) {
  return first && reader.is_single() && first->text.starts_with('{') &&
         !is_single_row(first->text, reader.name());
}

}  // namespace

Result<std::vector<std::string>> source_names(const Input& input) {
  std::error_code ignored;
  if (std::filesystem::is_directory(input.path, ignored)) return directory_names(input);
  OMNIBAL_ASSIGN(RowReader reader, RowReader::open(input.path, {}));
  std::vector<std::string> names = {source_name(input)};
  if (is_megatron_index(reader.first_bytes())) return names;
  OMNIBAL_ASSIGN(const std::optional<RowText> first, reader.next());
  if (is_wrapper(reader, first)) return wrapped_names(input.path, first->text);
  return names;
}

Status read_json_lengths(Loading& loading, const Input& input, RowReader reader) {
  OMNIBAL_ASSIGN(const std::optional<RowText> first, reader.next());
  if (is_wrapper(reader, first)) {
    loading.inputs.push_back({input.path, reader.hash()});
    return read_wrapper(loading, input.path, first->text);
  }
  Source source{.name = source_name(input), .path = input.path, .hash = ""};
  return read_rows(loading, std::move(source), first, reader);
}

Status read_listed_lengths(Loading& loading, Source source) {
  OMNIBAL_ASSIGN(RowReader reader, RowReader::open(source.path, loading.progress));
  OMNIBAL_ASSIGN(const std::optional<RowText> first, reader.next());
  return read_rows(loading, std::move(source), first, reader);
}

std::string source_name(const Input& input) {
  if (!input.name.empty()) return input.name;
  if (input.path == "-") return "stdin";
  return std::filesystem::path(input.path).stem().string();
}

}  // namespace omnibal::corpus
