// SPDX-License-Identifier: Apache-2.0
//
// What truncated.jsonl says, and the rule of a cut as `verify` knows it: not the packer's code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checks.h"
#include "omnibal/corpus/corpus.h"

namespace omnibal::verify {

struct Cut {
  std::size_t sample = 0;  // corpus index
  std::int64_t from = 0;
  std::int64_t to = 0;
};

/// The cuts in corpus order; none if there is no such file.
Result<std::vector<Cut>> read_cuts(const plan::PlanReader& plan, const std::string& directory);

/// The names of the plan's sources.
Result<std::vector<std::string>> source_names(const plan::PlanReader& plan);

/// rejected.jsonl against the inputs: tokens of media and tokens with a loss are as it says, and
/// under --over-long truncate no sample is rejected that could have been cut.
Status compare_rejections(const plan::PlanReader& plan, const std::string& directory,
                          const corpus::Corpus& corpus, bool truncates);

/// Tokens of the sample's media, which never are cut.
std::int64_t media_tokens(const corpus::Corpus& corpus, std::size_t sample);

/// Whether a cut to `to` tokens leaves all media, a token beside them, and a token with a loss
/// wherever those stand.
bool is_safe_cut(const corpus::Corpus& corpus, std::size_t sample, std::int64_t to);

}  // namespace omnibal::verify
