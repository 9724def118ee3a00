// SPDX-License-Identifier: Apache-2.0
//
// The flags of `omnibal plan`, and what its provenance keeps of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/options/data_flags.h"
#include "cli/options/model_flags.h"
#include "cli/plan_sizes.h"
#include "omnibal/corpus/corpus.h"

namespace omnibal::cli {

struct PlanFlags {
  CorpusFlags corpus;
  PackingFlags packing;
  std::string method = "auto";
  ModelFlags model;
  SizeFlags sizes;
  std::int64_t global_batch = 1024;
  std::string schedule;  // empty: searched
  std::optional<std::int64_t> chunks;
  std::optional<ByteSize> memory;
  std::string recompute_choices = "full";
  std::string profile;
  StepFlags steps;
  std::string layout = "integrated";
  std::string links = "model";
  std::optional<double> zero3;  // TFLOP/s
  bool explain = false;
  bool reuse = false;
  std::string diff;
  bool dry_run = false;
  std::string out;
};

std::vector<Flag> plan_flags(PlanFlags& flags);

/// `provenance.options`; `sizes` as they came out of those that were given.
codec::Json options_json(const PlanFlags& flags, const cluster::ParallelSizes& sizes);

/// What was read beside the samples, with its hash: presets are no files.
Result<std::vector<corpus::InputFile>> configuration_files(const PlanFlags& flags);

}  // namespace omnibal::cli
