// SPDX-License-Identifier: Apache-2.0
//
// The corpus directory: corpus.json and one .npy a column (docs/formats/corpus.md).
#include <fmt/format.h>

#include <limits>

#include "corpus/input_forms.h"
#include "corpus/length_row.h"
#include "corpus/vision_unit.h"
#include "omnibal/base/version.h"
#include "omnibal/codec/atomic_write.h"
#include "omnibal/codec/hash.h"
#include "omnibal/codec/json.h"
#include "omnibal/codec/npy.h"

namespace omnibal::corpus {
namespace {

using codec::Json;
using codec::JsonFields;

constexpr const char* kHeaderName = "corpus.json";
constexpr const char* kFormat = "omnibal.corpus";
constexpr std::int64_t kVersion = 1;

/// Calls `visit(name, column)` for every column in the order of content_hash.
template <class AnyCorpus, class Visit>
Status for_each_column(AnyCorpus& corpus, const Visit& visit) {
  OMNIBAL_RETURN_IF_ERROR(visit("vision", corpus.vision));
  OMNIBAL_RETURN_IF_ERROR(visit("dummy_vision", corpus.dummy_vision));
  OMNIBAL_RETURN_IF_ERROR(visit("tokens", corpus.tokens));
  OMNIBAL_RETURN_IF_ERROR(visit("supervised", corpus.supervised));
  OMNIBAL_RETURN_IF_ERROR(visit("source", corpus.source));
  return visit("row", corpus.row);
}

std::string column_path(const std::string& directory, std::string_view column) {
  return fmt::format("{}/{}.npy", directory, column);
}

codec::DirectoryKind directory_kind() {
  return {kHeaderName,
          kFormat,
          {kHeaderName, "vision.npy", "dummy_vision.npy", "tokens.npy", "supervised.npy",
           "source.npy", "row.npy"}};
}

Json header_of(const Corpus& corpus, const Json& provenance) {
  Json header = {{"format", kFormat}, {"version", kVersion}};
  header.update(describe(corpus));
  header["hash"] = content_hash(corpus);
  header["provenance"] = provenance;
  return header;
}

Result<Source> source_from(const Json& object, std::size_t index, const std::string& file) {
  constexpr double kLeast = std::numeric_limits<double>::min();
  constexpr double kMost = std::numeric_limits<double>::max();
  const JsonFields fields(object, file, fmt::format("sources[{}]", index));
  Source source;
  OMNIBAL_ASSIGN(source.name, fields.text("name"));
  OMNIBAL_ASSIGN(source.path, fields.text_or("path", ""));
  OMNIBAL_ASSIGN(source.hash, fields.text_or("hash", ""));
  OMNIBAL_ASSIGN(source.num_samples, fields.integer("samples", 0, INT32_MAX));
  OMNIBAL_ASSIGN(source.weight, fields.number_or("weight", 1, kLeast, kMost));
  OMNIBAL_ASSIGN(source.repeat, fields.number_or("repeat", 1, 0, kMost));
  OMNIBAL_ASSIGN(source.num_given, fields.integer_or("given", source.num_samples, 0, INT32_MAX));
  OMNIBAL_ASSIGN(source.left_out, fields.integer_or("left_out", 0, 0, source.num_given));
  return source;
}

/// Everything of corpus.json but the columns; their length and hash apart.
struct Header {
  Corpus corpus;
  std::int64_t samples = 0;
  std::string hash;
};

Result<Header> read_header(const std::string& file) {
  OMNIBAL_ASSIGN(const Json root, codec::read_json(file));
  OMNIBAL_RETURN_IF_ERROR(codec::check_format(root, file, kFormat, kVersion));
  const JsonFields fields(root, file);
  Header header;
  OMNIBAL_ASSIGN(header.samples, fields.integer("samples", 0, INT32_MAX));
  OMNIBAL_ASSIGN(header.hash, fields.text("hash"));
  OMNIBAL_ASSIGN(const Json* unit, fields.object("unit"));
  OMNIBAL_ASSIGN(header.corpus.unit, read_vision_unit(JsonFields(*unit, file, "unit")));
  OMNIBAL_ASSIGN(header.corpus.supervised_is_estimate,
                 fields.boolean_or("supervised_is_estimate", true));
  OMNIBAL_ASSIGN(const Json* sources, fields.array("sources"));
  for (std::size_t i = 0; i < sources->size(); ++i) {
    OMNIBAL_ASSIGN(Source source, source_from((*sources)[i], i, file));
    header.corpus.sources.push_back(std::move(source));
  }
  if (header.samples == 0) {
    return Error(ErrorCode::kEmptyInput, "the corpus holds no sample").in_file(file);
  }
  return header;
}

template <class T>
Status read_column(const std::string& path, std::int64_t samples, std::vector<T>& column) {
  OMNIBAL_ASSIGN(const codec::NpyFile file, codec::NpyFile::open(path));
  OMNIBAL_ASSIGN(const std::span<const T> values, file.as<T>(1));
  if (file.shape()[0] != samples) {
    return Error(ErrorCode::kMalformedNpy, "the column is not as long as corpus.json says")
        .in_file(path)
        .with_value(file.shape()[0])
        .with_limit(samples);
  }
  column.assign(values.begin(), values.end());
  return {};
}

Error bad_sample(const std::string& directory, const char* column, std::size_t row,
                 std::int64_t value, std::int64_t limit) {
  return Error(ErrorCode::kOutOfRange,
               fmt::format("sample {}: {} is {}, at most {} is allowed", row, column, value, limit))
      .in_file(column_path(directory, column))
      .at_row(static_cast<std::int64_t>(row))
      .with_value(value)
      .with_limit(limit);
}

Status check_samples(const Corpus& corpus, const std::string& directory) {
  std::vector<std::int64_t> counts(corpus.sources.size());
  const auto last_source = static_cast<std::int64_t>(counts.size()) - 1;
  for (std::size_t i = 0; i < corpus.tokens.size(); ++i) {
    const auto bad = [&](const char* column, std::int64_t value, std::int64_t limit) {
      return bad_sample(directory, column, i, value, limit);
    };
    if (corpus.vision[i] > kMaxLength) return bad("vision", corpus.vision[i], kMaxLength);
    if (corpus.tokens[i] > kMaxLength) return bad("tokens", corpus.tokens[i], kMaxLength);
    if (corpus.dummy_vision[i] > corpus.vision[i]) {
      return bad("dummy_vision", corpus.dummy_vision[i], corpus.vision[i]);
    }
    if (corpus.supervised[i] > corpus.tokens[i]) {
      return bad("supervised", corpus.supervised[i], corpus.tokens[i]);
    }
    if (corpus.source[i] > last_source) return bad("source", corpus.source[i], last_source);
    ++counts[corpus.source[i]];
  }
  for (std::size_t s = 0; s < counts.size(); ++s) {
    if (counts[s] == corpus.sources[s].num_samples) continue;
    return Error(ErrorCode::kOutOfRange,
                 fmt::format("source {} has another number of samples than corpus.json says", s))
        .in_file(column_path(directory, "source"))
        .with_value(counts[s])
        .with_limit(corpus.sources[s].num_samples);
  }
  return {};
}

/// One source takes the name that the user gives, several get it as a prefix.
void rename_sources(std::vector<Source>& sources, const std::string& name) {
  if (name.empty()) return;
  for (Source& source : sources)
    source.name = sources.size() == 1 ? name : name + "/" + source.name;
}

std::string header_path(const Input& input) {
  return fmt::format("{}/{}", input.path, kHeaderName);
}

/// The header of a directory, its sources named as the user wants.
Result<Header> header_in(const Input& input) {
  Result<Header> header = read_header(header_path(input));
  if (header.ok()) {
    rename_sources(header->corpus.sources, input.name);
    return header;
  }
  Error error = std::move(header).error();
  if (error.code != ErrorCode::kFileNotFound) return error;
  return Error(ErrorCode::kUnknownFormat, "the directory holds no corpus.json")
      .in_file(input.path)
      .with_hint("give a corpus directory or a file of lengths");
}

}  // namespace

Json describe(const Corpus& corpus) {
  Json sources = Json::array();
  for (const Source& source : corpus.sources) {
    sources.push_back({{"name", source.name},
                       {"path", source.path},
                       {"hash", source.hash},
                       {"samples", source.num_samples},
                       {"weight", source.weight},
                       {"repeat", source.repeat},
                       {"given", source.given()},
                       {"left_out", source.left_out}});
  }
  return {{"samples", corpus.size()},
          {"unit",
           {{"name", corpus.unit.name},
            {"vision_tokens", corpus.unit.vision_tokens},
            {"llm_tokens", corpus.unit.llm_tokens}}},
          {"supervised_is_estimate", corpus.supervised_is_estimate},
          {"sources", std::move(sources)}};
}

std::string content_hash(const Corpus& corpus) {
  codec::Hasher hasher;
  const Status hashed = for_each_column(corpus, [&](const char*, const auto& column) {
    hasher.add(std::as_bytes(std::span(column)));
    return Status();
  });
  assert(hashed.ok());
  return hasher.hex();
}

Status write_corpus(const Corpus& corpus, const std::string& directory, const Json& provenance) {
  OMNIBAL_ASSIGN(codec::StagedDirectory staged,
                 codec::StagedDirectory::create(directory, directory_kind()));
  const std::vector<std::int64_t> shape = {corpus.size()};
  OMNIBAL_RETURN_IF_ERROR(for_each_column(corpus, [&](const char* name, const auto& column) {
    using T = typename std::decay_t<decltype(column)>::value_type;
    return codec::write_npy<T>(column_path(staged.path(), name), shape, column);
  }));
  OMNIBAL_RETURN_IF_ERROR(codec::write_json(fmt::format("{}/{}", staged.path(), kHeaderName),
                                            header_of(corpus, provenance)));
  return staged.commit();
}

Status write_corpus(const Corpus& corpus, const std::string& directory) {
  return write_corpus(corpus, directory, {{"tool", fmt::format("omnibal {}", version())}});
}

Result<std::vector<std::string>> directory_names(const Input& input) {
  OMNIBAL_ASSIGN(const Header header, header_in(input));
  std::vector<std::string> names;
  for (const Source& source : header.corpus.sources) names.push_back(source.name);
  return names;
}

Status read_corpus_directory(Loading& loading, const Input& input) {
  OMNIBAL_ASSIGN(Header header, header_in(input));
  const std::string file = header_path(input);
  Corpus corpus = std::move(header.corpus);
  OMNIBAL_RETURN_IF_ERROR(for_each_column(corpus, [&](const char* name, auto& column) {
    return read_column(column_path(input.path, name), header.samples, column);
  }));
  OMNIBAL_RETURN_IF_ERROR(check_samples(corpus, input.path));
  const std::string hash = content_hash(corpus);
  if (hash != header.hash) {
    return Error(ErrorCode::kChecksumMismatch, "the columns are not those corpus.json was made for")
        .in_file(file)
        .at_key("hash")
        .with_value(hash)
        .with_limit(header.hash);
  }
  loading.inputs.push_back({input.path, hash});
  return add_corpus(loading, std::move(corpus), input.path);
}

}  // namespace omnibal::corpus
