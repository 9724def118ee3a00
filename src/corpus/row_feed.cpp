// SPDX-License-Identifier: Apache-2.0
#include "corpus/row_feed.h"

#include <filesystem>
#include <utility>

#include "corpus/input_forms.h"
#include "corpus/length_reader.h"

namespace omnibal::corpus {
namespace {

/// A length list, of which no more than one row is held.
class ListFeed : public RowFeed {
 public:
  /// `first`: the first element, which `reader` has given already.
  ListFeed(const Input& input, bool add_dummy, RowReader reader, std::optional<RowText> first)
      : RowFeed({input.path}),
        name_(source_name(input)),
        add_dummy_(add_dummy),
        reader_(std::move(reader)),
        list_(reader_.name(), lint_),
        text_(first) {}

  Result<std::optional<FedRow>> next() override {
    if (std::exchange(begun_, true)) {
      OMNIBAL_ASSIGN(text_, reader_.next());
    } else if (!text_) {
      return no_sample(reader_);
    }
    if (!text_) return std::optional<FedRow>();
    OMNIBAL_ASSIGN(const SampleLengths lengths, list_.read(*text_));
    const bool dummy = add_dummy_ && lengths.vision == 0;
    return std::optional(FedRow{.source = name_,
                                .file = reader_.name(),
                                .row = text_->row,
                                .vision = dummy ? 1 : lengths.vision,
                                .tokens = lengths.tokens,
                                .weight = to_row_weight(lengths.weight)});
  }
  bool is_list() const override { return true; }
  std::vector<Finding> findings() const override { return lint_.worst_first(); }

 private:
  std::string name_;
  bool add_dummy_;
  RowReader reader_;
  LintLog lint_;
  LengthReader list_;
  std::optional<RowText> text_;
  bool begun_ = false;
};

/// A corpus that has been read whole: its samples are rows, each wanted once.
class CorpusFeed : public RowFeed {
 public:
  CorpusFeed(std::vector<std::string> files, Loading loading)
      : RowFeed(std::move(files)), loading_(std::move(loading)) {}

  Result<std::optional<FedRow>> next() override {
    const Corpus& corpus = loading_.corpus;
    if (next_ == corpus.tokens.size()) return std::optional<FedRow>();
    const std::size_t i = next_++;
    const Source& source = corpus.sources[corpus.source[i]];
    return std::optional(FedRow{.source = source.name,
                                .file = source.path,
                                .row = corpus.row[i],
                                .vision = corpus.vision[i],
                                .tokens = corpus.tokens[i]});
  }
  bool is_list() const override { return false; }
  std::vector<Finding> findings() const override { return loading_.lint.worst_first(); }

 private:
  Loading loading_;
  std::size_t next_ = 0;
};

Result<std::unique_ptr<RowFeed>> feed_of(Loading loading, const Input& input,
                                         const MixtureOptions& mixture) {
  OMNIBAL_RETURN_IF_ERROR(mix_sources(loading, mixture));
  std::vector<std::string> files = {input.path};
  for (const InputFile& file : loading.inputs) files.push_back(file.path);
  return std::unique_ptr<RowFeed>(
      std::make_unique<CorpusFeed>(std::move(files), std::move(loading)));
}

}  // namespace

Result<std::unique_ptr<RowFeed>> open_feed(const Input& input, const ReadOptions& options,
                                           const Progress& progress) {
  Loading loading;
  loading.add_dummy = options.add_dummy;
  loading.progress = progress;
  std::error_code ignored;
  if (std::filesystem::is_directory(input.path, ignored)) {
    OMNIBAL_RETURN_IF_ERROR(read_corpus_directory(loading, input));
    return feed_of(std::move(loading), input, options.mixture);
  }
  OMNIBAL_ASSIGN(RowReader reader,
                 RowReader::open(input.path, progress, RowReader::Accept::kPipesToo));
  if (is_megatron_index(reader.first_bytes())) {
    OMNIBAL_RETURN_IF_ERROR(read_megatron_index(loading, input));
    return feed_of(std::move(loading), input, options.mixture);
  }
  OMNIBAL_ASSIGN(const std::optional<RowText> first, reader.next());
  if (is_wrapper(reader, first)) {
    OMNIBAL_RETURN_IF_ERROR(read_wrapper(loading, input.path, first->text));
    return feed_of(std::move(loading), input, options.mixture);
  }
  return std::unique_ptr<RowFeed>(
      std::make_unique<ListFeed>(input, options.add_dummy, std::move(reader), first));
}

}  // namespace omnibal::corpus
