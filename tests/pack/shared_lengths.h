// SPDX-License-Identifier: Apache-2.0
//
// Test support: the two real length files together, where they are. Absent: nothing, so that a
// test skips.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "data_paths.h"
#include "omnibal/corpus/corpus.h"

namespace omnibal::pack {

inline const std::string kSharedLengths = shared_data("lengths/");

inline std::optional<Result<corpus::LoadedCorpus>> shared_lengths() {
  if (!std::filesystem::is_directory(kSharedLengths)) return std::nullopt;
  return corpus::read_corpus({{kSharedLengths + "ai2d_train_12k_wh_token_lengths.json", ""},
                              {kSharedLengths + "chartqa_train_18k_wh_token_lengths.json", ""}},
                             {}, {});
}

}  // namespace omnibal::pack
