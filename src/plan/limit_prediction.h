// SPDX-License-Identifier: Apache-2.0
//
// What predict_caps is made of, for the search alone.
#pragma once

#include "omnibal/plan/limit_search.h"
#include "pipeline_choice.h"

namespace omnibal::plan {

struct FittedPipeline {
  PipelineChoice choice;
  std::int64_t micro_batches = 0;
  std::int64_t peak_bytes = 0;
  double recompute_share = 0;
};

/// The pipeline of a plan with these limits: micro-batches that come nearest to the global batch,
/// cuts at the mean pack of the whole corpus, so that they do not depend on which samples were
/// drawn. Errors: kTooManyStages, kMemoryInfeasible.
Result<FittedPipeline> fit_pipeline(const LimitProblem& problem, const pack::PackLimits& limits,
                                    double samples_per_pack);

/// predict_caps from other samples: `problem.few` for a first look.
CapPrediction predict_with(const LimitProblem& problem, const LimitProblem::Samples& drawn,
                           std::int64_t vision_cap, std::int64_t token_cap);

/// Why these caps do not fit, when predict_caps says so.
Error why_not(const LimitProblem& problem, std::int64_t vision_cap, std::int64_t token_cap);

}  // namespace omnibal::plan
