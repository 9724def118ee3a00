// SPDX-License-Identifier: Apache-2.0
//
// Corpus: the lengths of all samples of a training set, one compact row a sample (20 bytes).
//
//   OMNIBAL_ASSIGN(const LoadedCorpus loaded, read_corpus(inputs, {}, progress));
//   loaded.corpus.tokens[i];      // LLM tokens of sample i, image tokens included
//
// Not the samples themselves: a row names its source and the row in it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "omnibal/base/progress.h"
#include "omnibal/base/result.h"
#include "omnibal/corpus/mixture.h"

namespace omnibal::corpus {

/// What one vision unit is. Default: a 448-pixel tile of InternVL-like models.
struct VisionUnit {
  std::string name = "tile-448";
  std::int32_t vision_tokens = 1025;  // tokens of the vision tower
  std::int32_t llm_tokens = 256;      // tokens of the language model
};

struct Source {
  std::string name;
  std::string path;              // as the user typed it
  std::string hash;              // XXH128 of the input's bytes
  std::int64_t num_samples = 0;  // corpus indices, repeats included
  double weight = 1;             // asked for; what came of it are num_samples
  double repeat = 1;             // asked for, or num_samples / given() where samples were drawn
  std::int64_t num_given = 0;    // rows; 0: as many as samples
  std::int64_t left_out = 0;     // rows that are no sample at all

  std::int64_t given() const { return num_given > 0 ? num_given : num_samples; }
};

/// Column i of every array is sample i; order: sources as given, rows in file order, a repeated
/// source's rows once a repeat, of the last repeat those that were drawn.
struct Corpus {
  VisionUnit unit;
  bool supervised_is_estimate = true;
  std::vector<Source> sources;
  std::vector<std::uint32_t> vision;        // vision units, dummies included
  std::vector<std::uint16_t> dummy_vision;  // of these: blank units of text-only samples
  std::vector<std::uint32_t> tokens;        // LLM tokens
  std::vector<std::uint32_t> supervised;    // tokens with a loss
  std::vector<std::uint16_t> source;        // index into `sources`
  std::vector<std::uint32_t> row;           // row in the source, from 0

  std::int64_t size() const { return static_cast<std::int64_t>(tokens.size()); }
};

enum class Severity { kWarning, kError };

/// All occurrences of one kind of oddity.
struct Finding {
  std::string kind;  // "tiles_need_more_tokens"
  Severity severity = Severity::kWarning;
  std::int64_t count = 0;
  std::string example;  // the first: "lengths.json row 3: 5 tiles need 1280 tokens, has 300"
};

/// A file that was read: a length list, a wrapper or each of the lists it names, a corpus
/// directory.
struct InputFile {
  std::string path;  // as the user typed it, or as the wrapper led to it
  std::string hash;  // XXH128 of its bytes, as `xxhsum -H2` prints it; of a directory: content_hash
};

struct LoadedCorpus {
  Corpus corpus;
  std::vector<Finding> findings;  // worst first
  std::vector<InputFile> inputs;  // in the order of reading
};

/// One INPUT of the command line.
struct Input {
  std::string path;  // "-": standard input
  std::string name;  // of the source; empty: after the file
};

/// "name=path" or "path". A name holds no slash: "./a=b.json" is a path.
Input parse_input(const std::string& text);
/// Of the source that an input without parts becomes: as named, else after the file.
std::string source_name(const Input& input);

struct ReadOptions {
  bool add_dummy = false;  // a text-only sample with no unit gets a blank one
  bool strict = false;     // findings are errors (kLintFailed)
  MixtureOptions mixture = {};
};

/// Reads any of: a corpus directory, a length list (JSON array or JSON Lines of
/// {"vit_num", "token_num", "image_flags" or "image_flag", "weight"}), a wrapper
/// {"name": {"token_lengths": path, "repeat": 2.5, "weight": 0.3}} with paths relative to the
/// wrapper, a Megatron .idx file (tokens only). Which of them a file is, its content tells. Then
/// repeats and draws as wrappers, rows and `mixture` say; findings count rows as given.
/// O(samples) time; beside the corpus itself (20 bytes a sample) a few MiB, however long a line is,
/// and where something is repeated or drawn 8 bytes a sample while that is done.
/// Errors name file, row and key: kFileNotFound, kFileUnreadable, kEmptyInput, kMalformedJson,
/// kMalformedNpy, kUnknownFormat, kMissingKey, kDuplicateKey, kDuplicateName, kConflictingKeys,
/// kWrongType, kOutOfRange, kNothingUsable, kChecksumMismatch, kLintFailed; kInvalidArgument of
/// check_mixture, and for the weight of a source that is not there (before any list is read,
/// standard input apart).
Result<LoadedCorpus> read_corpus(const std::vector<Input>& inputs, const ReadOptions& options,
                                 const Progress& progress);

/// Writes the corpus directory (docs/formats/corpus.md) atomically. `provenance`, an object, is
/// stored as it is. Errors: kWriteFailed, kWouldOverwrite.
Status write_corpus(const Corpus& corpus, const std::string& directory,
                    const nlohmann::ordered_json& provenance);
Status write_corpus(const Corpus& corpus, const std::string& directory);

/// What corpus.json and plan.json say of a corpus: samples, unit, supervised_is_estimate, sources.
nlohmann::ordered_json describe(const Corpus& corpus);

/// What two corpora share exactly when all their columns are equal: XXH128 of the bytes of vision,
/// dummy_vision, tokens, supervised, source and row, one after the other, little-endian.
std::string content_hash(const Corpus& corpus);

}  // namespace omnibal::corpus
