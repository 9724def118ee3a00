// SPDX-License-Identifier: Apache-2.0
//
// The plan directory: plan.json and the arrays beside it (docs/formats.md), written atomically and
// read back checked.
//
//   PlanFiles files{.document = json, .packs = packs, ...};
//   OMNIBAL_RETURN_IF_ERROR(write_plan(files, "plan"));
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/codec/json.h"
#include "omnibal/corpus/corpus.h"
#include "omnibal/metrics/loads.h"
#include "omnibal/pack/packs.h"
#include "omnibal/steps/step_table.h"

namespace omnibal::plan {

/// What a plan directory is made of. `document` holds the keys of `pack` and `plan` of
/// docs/formats.md; format, version, provenance and corpus are added by the writer.
struct PlanFiles {
  const corpus::Corpus& corpus;
  const pack::Packs& packs;
  const std::vector<metrics::PackLoad>& loads;
  const std::vector<pack::Rejection>& rejected;
  const steps::StepTable* steps = nullptr;  // null: no --dp was given
};

/// Options as the user gave them, in provenance: everything that decides the content, and nothing
/// else (no times, hosts, thread counts or output paths).
struct Provenance {
  codec::Json options = codec::Json::object();
  std::uint64_t seed = 0;
};

/// Errors: kWouldOverwrite, kWriteFailed.
Status write_plan(const PlanFiles& files, const Provenance& provenance, const codec::Json& document,
                  const std::string& directory);

}  // namespace omnibal::plan
