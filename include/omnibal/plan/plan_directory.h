// SPDX-License-Identifier: Apache-2.0
//
// The plan directory: plan.json and the arrays beside it (docs/formats.md), written atomically and
// read back checked.
//
//   OMNIBAL_RETURN_IF_ERROR(write_plan({.corpus = corpus, .data = data, ...}, "plan"));
//   OMNIBAL_ASSIGN(const PlanReader plan, PlanReader::open("plan"));
//   plan.steps();                          // int64 [steps, micro-batches, dp]
//
// Not a judge of what a plan means: that is room verify.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/codec/json.h"
#include "omnibal/codec/npy.h"
#include "omnibal/corpus/corpus.h"
#include "omnibal/cost/profile.h"
#include "omnibal/metrics/loads.h"
#include "omnibal/plan/data_plan.h"
#include "omnibal/plan/provenance.h"
#include "omnibal/steps/step_table.h"

namespace omnibal::plan {

/// What a plan directory is made of.
struct PlanFiles {
  const corpus::Corpus& corpus;
  const DataPlan& data;
  const cost::Profile* profile = nullptr;  // null: no model part
  Provenance provenance = {};
  codec::Json document = codec::Json::object();  // the keys of `pack` and `plan`
  int threads = 0;                               // that write; 0: all
};

/// Errors: kWouldOverwrite, kWriteFailed. O(samples).
Status write_plan(const PlanFiles& files, const std::string& directory);

/// A plan directory opened for reading: arrays are memory-mapped, their types and dimensions are
/// those of docs/formats.md, their lengths agree with each other, steps.npy has no extent of 0 and
/// no sample has 2^31 vision units or tokens. Ids and loads are as the files have them:
/// read_pipeline (plan_pipeline.h) checks those that it hands on.
class PlanReader {
 public:
  /// Errors: kFileNotFound, kMalformedJson, kMalformedNpy, kUnknownFormat, kInvalidPlan.
  static Result<PlanReader> open(const std::string& directory);

  const codec::Json& document() const { return document_; }
  std::span<const std::int64_t> pack_offsets() const { return pack_offsets_; }
  std::span<const std::int64_t> pack_samples() const { return pack_samples_; }
  std::span<const metrics::PackLoad> pack_loads() const { return pack_loads_; }
  std::span<const std::int64_t> supervised() const { return supervised_; }
  /// null: the plan has no steps.
  const steps::StepTable* steps() const { return steps_ ? &*steps_ : nullptr; }
  std::span<const std::uint32_t> sample_vision() const { return sample_vision_; }
  std::span<const std::uint32_t> sample_tokens() const { return sample_tokens_; }
  std::span<const std::uint16_t> sample_source() const { return sample_source_; }
  std::span<const std::uint32_t> sample_row() const { return sample_row_; }
  /// null: the plan has no model part.
  const cost::Profile* profile() const { return profile_ ? &*profile_ : nullptr; }

 private:
  PlanReader() = default;
  Status read_packs(const std::string& directory);
  Status read_samples(const std::string& directory);
  Status read_optional_parts(const std::string& directory);

  codec::Json document_;
  std::vector<codec::NpyFile> files_;  // keep the mappings of the spans alive
  std::span<const std::int64_t> pack_offsets_, pack_samples_, supervised_;
  std::span<const metrics::PackLoad> pack_loads_;
  std::span<const std::uint32_t> sample_vision_, sample_tokens_, sample_row_;
  std::span<const std::uint16_t> sample_source_;
  std::optional<steps::StepTable> steps_;
  std::optional<cost::Profile> profile_;
};

inline constexpr std::string_view kPlanFormat = "omnibal.plan";
inline constexpr std::int64_t kPlanVersion = 1;

/// Files of a plan directory, for whoever lists or checks them.
inline constexpr std::string_view kPlanDocument = "plan.json";
/// The same, for errors that name the file.
const std::string& plan_document_name();
inline constexpr std::string_view kChecksums = "checksums.txt";

}  // namespace omnibal::plan
