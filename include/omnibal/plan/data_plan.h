// SPDX-License-Identifier: Apache-2.0
//
// DataPlan: the data part of a plan: packs, their loads, and the steps that run them. `omnibal
// pack` is this alone; `omnibal plan` adds the model part.
//
//   OMNIBAL_ASSIGN(const DataPlan data, make_data_plan(corpus, options, forward, progress));
//   const Json keys = to_json(data, corpus, options);
//
// Not for comparing methods: that is `omnibal compare`.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "omnibal/base/progress.h"
#include "omnibal/base/result.h"
#include "omnibal/codec/json.h"
#include "omnibal/corpus/corpus.h"
#include "omnibal/cost/profile.h"
#include "omnibal/metrics/source_mix.h"
#include "omnibal/pack/method.h"
#include "omnibal/pack/packs.h"
#include "omnibal/plan/limit_search.h"
#include "omnibal/plan/worst_pack.h"
#include "omnibal/steps/step_summary.h"
#include "omnibal/steps/step_table.h"

namespace omnibal::plan {

/// Who chose the caps: the user, the paper's heuristic, predicted time and memory.
enum class CapSource { kGiven, kPaper, kAuto };
std::string_view to_string(CapSource source);  // "given", "paper", "auto"

struct DataPlanOptions {
  pack::Method method = pack::Method::kIsf;
  pack::PackLimits limits = {};
  CapSource caps_by = CapSource::kGiven;
  std::optional<LimitChoice> choice = std::nullopt;  // why these caps; only of CapSource::kAuto
  pack::AdmissionOptions admission = {};
  std::int64_t micro_batch = 4;  // samples, of the baselines that pad
  std::uint64_t seed = 0;
  std::optional<steps::StepOptions> steps;  // absent: packs alone
  int threads = 0;                          // 0: all; the plan is the same
  cost::LinearCost activation_bytes = {};   // of a micro-batch: what makes a pack the worst
  bool worst_first = false;                 // its group is the first micro-batch of epoch 0
};

struct DataPlan {
  pack::Admission admission;
  std::vector<std::uint32_t> cut_tokens;  // of all samples; empty: none was cut
  pack::Grouping grouping;
  std::vector<metrics::PackLoad> loads;  // as computed: padded where the method pads
  std::optional<steps::StepTable> steps;
  std::optional<steps::StepSummary> step_summary;
  std::optional<WorstPack> worst;
  std::optional<metrics::SourceMix> mix;  // step by step
  cost::LinearCost forward;               // what predicted the time when steps were formed
};

/// Packs and their loads, without steps. `forward` predicts a pack's time, by which method auto
/// chooses. Errors: those of admit.
Result<DataPlan> pack_corpus(const corpus::Corpus& corpus, const DataPlanOptions& options,
                             const cost::LinearCost& forward, const Progress& progress);

/// Deals the packs of `data` into the steps that the options ask for; `forward` predicts a pack's
/// time. Errors: those of form_steps.
Status add_steps(DataPlan& data, const DataPlanOptions& options, const cost::LinearCost& forward,
                 const Progress& progress);
/// What is to be said about the steps of `data`: summary, worst pack, mix. Same errors.
Status describe_steps(DataPlan& data, const corpus::Corpus& corpus, const DataPlanOptions& options);

/// The three in one, without steps where the options ask for none. Errors: theirs.
Result<DataPlan> make_data_plan(const corpus::Corpus& corpus, const DataPlanOptions& options,
                                const cost::LinearCost& forward, const Progress& progress);

/// The keys of `pack` (docs/formats.md) except pack_seconds, all computed by room metrics.
codec::Json to_json(const DataPlan& data, const corpus::Corpus& corpus,
                    const DataPlanOptions& options);

/// The object `limits` of a plan.
codec::Json limits_json(const pack::PackLimits& limits);

/// Columns of a corpus as packers take them.
metrics::SampleColumns columns(const corpus::Corpus& corpus);
/// With the lengths that samples have after truncation: what packs are charged for.
metrics::SampleColumns columns(const corpus::Corpus& corpus, const DataPlan& data);
metrics::SourcedSamples sourced_samples(const corpus::Corpus& corpus, const DataPlan& data);
/// What truncation must know of a corpus.
pack::CutColumns cut_columns(const corpus::Corpus& corpus);

}  // namespace omnibal::plan
