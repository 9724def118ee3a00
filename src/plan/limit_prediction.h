// SPDX-License-Identifier: Apache-2.0
//
// What predict_caps is made of, for the search alone.
#pragma once

#include "omnibal/plan/limit_search.h"
#include "pipeline_choice.h"

namespace omnibal::plan {

/// Micro-batches; from there on a step only grows.
inline constexpr std::int64_t kMostSimulated = 256;

struct FittedPipeline {
  PipelineChoice choice;
  std::int64_t micro_batches = 0;
  std::int64_t peak_bytes = 0;
  double recompute_share = 0;
};

std::int64_t round_up(std::int64_t value, std::int64_t unit);

/// The smallest caps that hold a sample; those that are given hold what they hold.
metrics::PackCaps smallest_caps(const CapQuestion& asked, std::int64_t vision, std::int64_t tokens);

/// Of mean samples that fill the scarcer of both caps.
double typical_samples_per_pack(const LimitProblem& problem, std::int64_t vision_cap,
                                std::int64_t token_cap);

/// Whether cuts by time alone leave room for full packs of `caps`.
bool fits_by_time(const LimitProblem& problem, const metrics::PackCaps& caps);

/// The pipeline of a plan with these limits: micro-batches that come nearest to the global batch,
/// cuts at the mean pack of the whole corpus, so that they do not depend on which samples were
/// drawn; by time alone, then recomputation. Where that does not fit, by bytes, or if it does not
/// even for the caps that hold every sample, chosen together for caps near these (tight_cuts.h).
/// Errors: kTooManyStages, kMemoryInfeasible.
Result<FittedPipeline> fit_pipeline(const LimitProblem& problem, const pack::PackLimits& limits,
                                    double samples_per_pack);

/// predict_caps from other samples: `problem.few` for a first look.
CapPrediction predict_with(const LimitProblem& problem, const LimitProblem::Samples& drawn,
                           std::int64_t vision_cap, std::int64_t token_cap);

/// What these caps miss, where predict_caps says that they do not fit: beside the cuts and
/// recomputation that miss least. The prediction where they fit after all.
Result<CapPrediction> predict_or_say_why(const LimitProblem& problem, std::int64_t vision_cap,
                                         std::int64_t token_cap);

/// The error of a pipeline of full packs under these caps whose cuts and recomputation are chosen
/// together, if even that does not fit.
Status check_least_memory(const LimitProblem& problem, const metrics::PackCaps& caps);

}  // namespace omnibal::plan
