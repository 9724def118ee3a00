// SPDX-License-Identifier: Apache-2.0
//
// One reader for each form in which lengths arrive. All add one or more sources to `loading`.
// Private to the room; corpus.h describes the forms.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "corpus/loading.h"
#include "corpus/row_reader.h"

namespace omnibal::corpus {

/// A length list, as JSON list or JSON Lines, or a wrapper.
Status read_json_lengths(Loading& loading, const Input& input, RowReader reader);

/// A length list that a wrapper names: another wrapper is refused. `source` with name, path, weight
/// and repeat.
Status read_listed_lengths(Loading& loading, Source source);

/// kEmptyInput: `reader` has given no element.
Error no_sample(const RowReader& reader);

/// Whether the JSON of `reader` is a wrapper; `first`: its first element.
bool is_wrapper(const RowReader& reader, const std::optional<RowText>& first);

/// A wrapper whose whole text is `text`. The lists are looked up relative to `path`.
Status read_wrapper(Loading& loading, const std::string& path, std::string_view text);

/// A Megatron index of token lengths.
Status read_megatron_index(Loading& loading, const Input& input);
bool is_megatron_index(std::string_view first_bytes);

/// A directory with corpus.json. With one source, `input.name` renames it.
Status read_corpus_directory(Loading& loading, const Input& input);

/// The names that the sources of an input will have, from the beginning of the file alone. Not of
/// standard input, which can be read only once.
Result<std::vector<std::string>> source_names(const Input& input);
/// Of a wrapper whose whole text is `text`.
Result<std::vector<std::string>> wrapped_names(const std::string& path, std::string_view text);
/// Of a corpus directory.
Result<std::vector<std::string>> directory_names(const Input& input);

/// kInvalidArgument if a weight is for none of `names`.
Status check_weighted_names(const std::vector<SourceWeight>& weights,
                            std::span<const std::string> names);

}  // namespace omnibal::corpus
