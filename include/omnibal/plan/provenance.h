// SPDX-License-Identifier: Apache-2.0
//
// Provenance: what a plan was made of and how it was asked for. Two plans of equal provenance have
// equal bytes, so that a plan can be kept instead of made again.
//
//   const Provenance provenance{.options = options, .inputs = loaded.inputs, .seed = seed};
//   const Status fresh = check_made_of("plan", provenance);   // kStalePlan says what differs
//   document["provenance"] = to_json(provenance);
//
// Not a check that the files are intact: that is room verify.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/codec/json.h"
#include "omnibal/corpus/corpus.h"

namespace omnibal::plan {

struct Provenance {
  /// What the user asked for, as far as it decides the content: no times, hosts, threads or
  /// output paths. `input` (as typed) and `dummy` let verify read the inputs again.
  codec::Json options = codec::Json::object();
  std::vector<corpus::InputFile> inputs = {};         // length lists and corpora
  std::vector<corpus::InputFile> configuration = {};  // model, cluster and profile files
  std::uint64_t seed = 0;
};

/// {tool, options, seed, inputs[] {path, hash}, configuration[] {path, hash}}.
codec::Json to_json(const Provenance& provenance);

/// Whether the plan in `directory` is of this provenance. Errors: kStalePlan naming the first
/// option or file that differs; those of reading plan.json; kUnknownFormat, kMissingKey.
Status check_made_of(const std::string& directory, const Provenance& provenance);

}  // namespace omnibal::plan
