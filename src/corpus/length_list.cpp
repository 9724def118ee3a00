// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "corpus/input_forms.h"
#include "corpus/length_reader.h"

namespace omnibal::corpus {
namespace {

/// The rows of one source, of which the reader has given `row` already.
Status read_rows(Loading& loading, Source source, std::optional<RowText> row, RowReader& reader) {
  if (!row) return no_sample(reader);
  const std::string path = source.path;
  OMNIBAL_RETURN_IF_ERROR(use_unit(loading, VisionUnit{}, path));
  OMNIBAL_RETURN_IF_ERROR(begin_source(loading, std::move(source)));
  LengthReader list(reader.name(), loading.lint);
  while (row) {
    OMNIBAL_ASSIGN(const SampleLengths lengths, list.read(*row));
    add_sample(loading, lengths);
    OMNIBAL_ASSIGN(row, reader.next());
  }
  loading.corpus.sources.back().hash = reader.hash();
  loading.inputs.push_back({path, reader.hash()});
  loading.corpus.supervised_is_estimate = true;
  return end_source(loading);
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

Error no_sample(const RowReader& reader) {
  return Error(ErrorCode::kEmptyInput,
               reader.is_blank() ? "the file is empty" : "the list holds no sample")
      .in_file(reader.name());
}

bool is_wrapper(const RowReader& reader, const std::optional<RowText>& first) {
  return first && reader.is_single() && first->text.starts_with('{') && !is_length_row(first->text);
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
