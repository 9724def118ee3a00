// SPDX-License-Identifier: Apache-2.0
#include "omnibal/corpus/stream.h"

#include <filesystem>

#include "corpus/drawing.h"
#include "corpus/input_forms.h"
#include "corpus/length_reader.h"

namespace omnibal::corpus {
namespace {

Result<std::vector<Finding>> take_corpus(Loading& loading, const ReadOptions& options,
                                         const TakeSample& take) {
  OMNIBAL_RETURN_IF_ERROR(mix_sources(loading, options.mixture));
  const Corpus& corpus = loading.corpus;
  for (std::size_t i = 0; i < corpus.tokens.size(); ++i) {
    OMNIBAL_RETURN_IF_ERROR(
        take({static_cast<std::int64_t>(i), corpus.sources[corpus.source[i]].name, corpus.row[i],
              corpus.vision[i], corpus.tokens[i]}));
  }
  return loading.lint.worst_first();
}

/// `row`: the first element, which `reader` has given already.
Result<std::vector<Finding>> take_rows(const Input& input, const ReadOptions& options,
                                       std::optional<RowText> row, RowReader& reader,
                                       const TakeSample& take) {
  if (!row) return no_sample(reader);
  const std::string name = source_name(input);
  LintLog lint;
  LengthReader list(reader.name(), lint);
  RunningDraw draw(PhiloxRng(options.mixture.seed, RngStream::kMixture));
  while (row) {
    OMNIBAL_ASSIGN(const SampleLengths lengths, list.read(*row));
    const bool add_dummy = options.add_dummy && lengths.vision == 0;
    for (std::uint32_t k = draw.times(to_row_weight(lengths.weight)); k > 0; --k) {
      OMNIBAL_RETURN_IF_ERROR(
          take({row->row, name, row->row, add_dummy ? 1 : lengths.vision, lengths.tokens}));
    }
    OMNIBAL_ASSIGN(row, reader.next());
  }
  return lint.worst_first();
}

}  // namespace

Result<std::vector<Finding>> for_each_sample(const Input& input, const ReadOptions& options,
                                             const Progress& progress, const TakeSample& take) {
  Loading loading;
  loading.add_dummy = options.add_dummy;
  loading.progress = progress;
  std::error_code ignored;
  if (std::filesystem::is_directory(input.path, ignored)) {
    OMNIBAL_RETURN_IF_ERROR(read_corpus_directory(loading, input));
    return take_corpus(loading, options, take);
  }
  OMNIBAL_ASSIGN(RowReader reader, RowReader::open(input.path, progress));
  if (is_megatron_index(reader.first_bytes())) {
    OMNIBAL_RETURN_IF_ERROR(read_megatron_index(loading, input));
    return take_corpus(loading, options, take);
  }
  OMNIBAL_ASSIGN(const std::optional<RowText> first, reader.next());
  if (!is_wrapper(reader, first)) return take_rows(input, options, first, reader, take);
  OMNIBAL_RETURN_IF_ERROR(read_wrapper(loading, input.path, first->text));
  return take_corpus(loading, options, take);
}

}  // namespace omnibal::corpus
