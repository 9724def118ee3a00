// SPDX-License-Identifier: Apache-2.0
//
// A data plan for people: what was placed and rejected, how full packs are, how even steps are.
#pragma once

#include <string>

#include "omnibal/codec/json.h"
#include "omnibal/corpus/corpus.h"
#include "omnibal/plan/data_plan.h"

namespace omnibal::cli {

/// `keys`: the JSON answer of `pack`, pack_seconds included.
std::string to_text(const plan::DataPlan& data, const plan::DataPlanOptions& options,
                    const codec::Json& keys, const corpus::Corpus& corpus);

}  // namespace omnibal::cli
