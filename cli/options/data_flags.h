// SPDX-License-Identifier: Apache-2.0
//
// Flags about samples and packs that several commands share: declared once, checked once.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/options/flag.h"
#include "omnibal/corpus/corpus.h"
#include "omnibal/plan/data_plan.h"

namespace omnibal::cli {

struct CorpusFlags {
  std::vector<std::string> inputs;
  bool dummy = false;
  bool strict = false;
  std::vector<std::string> weights;
  std::optional<double> temperature;
  std::optional<std::int64_t> epoch_samples;
};

/// INPUT..., --dummy, --strict, --weights, --temperature, --epoch-samples. Bound to `flags`, which
/// must outlive the table.
std::vector<Flag> corpus_flags(CorpusFlags& flags);

/// Reads the inputs; findings of the lint go to stderr as warnings.
Result<corpus::LoadedCorpus> load_corpus(const CorpusFlags& flags, const Context& context);

struct PackingFlags {
  std::optional<std::int64_t> vision_cap, token_cap, vision_floor, token_floor;
  std::int64_t rounds = 50;
  std::string limits = "auto";
  std::string over_long = "reject";
  bool allow_empty = false;
  std::optional<std::int64_t> max_samples;
  std::int64_t micro_batch = 4;
};

/// --vision-cap ... --micro-batch.
std::vector<Flag> packing_flags(PackingFlags& flags);

/// What can be refused before the input is read: kInvalidArgument.
Status check_flags(const PackingFlags& flags);

/// What the flags say about limits; packs are padded to a multiple of `token_multiple`.
plan::CapQuestion cap_question(const PackingFlags& flags, std::int64_t token_multiple = 1);

/// Whether a cap is to be chosen by predicted time: it is not given, and not the paper's.
bool caps_are_open(const PackingFlags& flags);

/// Caps as given, or by the paper's heuristic from the samples; where they are open, none yet.
Result<plan::DataPlanOptions> data_plan_options(const PackingFlags& flags,
                                                const plan::CapQuestion& caps,
                                                const corpus::Corpus& corpus, std::uint64_t seed);

/// Chooses caps for `model` on the paper's cluster and sizes with `dp` ranks, if they are open.
Status choose_open_caps(const PackingFlags& flags, const plan::CapQuestion& caps,
                        const corpus::Corpus& corpus, const std::string& model, std::int64_t dp,
                        const Context& context, plan::DataPlanOptions& options);

/// --cp, --tp: what packs are padded to inside the token cap.
std::vector<Flag> padding_flags(std::int64_t* cp, std::int64_t* tp);

struct StepFlags {
  std::int64_t window = 512;
  std::string tail = "zero-weight";
  bool worst_first = false;

  friend bool operator==(const StepFlags&, const StepFlags&) = default;
};

Flag window_flag(std::int64_t* window);
/// --window, --tail, --worst-first.
std::vector<Flag> step_flags(StepFlags& flags);

/// Error: kInvalidArgument.
Result<steps::StepOptions> step_options(const StepFlags& flags, std::uint64_t seed);

/// The flags as far as they decide a plan's content, for its provenance.
codec::Json to_json(const CorpusFlags& flags);
codec::Json to_json(const PackingFlags& flags);
codec::Json to_json(const StepFlags& flags);

}  // namespace omnibal::cli
