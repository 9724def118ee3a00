// SPDX-License-Identifier: Apache-2.0
//
// Samples handed on one by one as they are read, for inputs without end.
//
//   OMNIBAL_ASSIGN(const auto findings, for_each_sample(parse_input("-"), {}, {},
//                                                       [&](const StreamedSample& sample) {
//     return session.take(sample);
//   }));
//
// Not for several sources: read_corpus (corpus.h) mixes and names them.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "omnibal/corpus/corpus.h"

namespace omnibal::corpus {

struct StreamedSample {
  std::int64_t id = 0;      // row of a length list, corpus index of other forms
  std::string_view source;  // its name
  std::int64_t row = 0;     // in the source, from 0
  std::uint32_t vision = 0;
  std::uint32_t tokens = 0;
};

/// An error ends the reading and is returned.
using TakeSample = std::function<Status(const StreamedSample&)>;

/// Calls `take` for every sample of the input, in corpus order. A length list, as JSON list or JSON
/// Lines, is never held: each sample is handed on as soon as its text is there. All other forms of
/// read_corpus are read whole before the first (20 bytes a sample) and repeated or drawn from as
/// there. A list alone is its whole epoch, so `options.mixture` gives it a seed for the weights of
/// its rows and nothing more.
/// Returns what rows had that is odd but possible. Errors: those of read_corpus, with kEmptyInput
/// where there is no sample; those of `take`.
Result<std::vector<Finding>> for_each_sample(const Input& input, const ReadOptions& options,
                                             const Progress& progress, const TakeSample& take);

}  // namespace omnibal::corpus
