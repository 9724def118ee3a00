// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "omnibal/plan/plan_directory.h"

namespace omnibal::plan {
namespace {

Error lengths_disagree(const std::string& path, std::size_t value, std::size_t expected) {
  return Error(ErrorCode::kInvalidPlan, "an array of the plan has another length than its siblings")
      .in_file(path)
      .with_value(static_cast<std::int64_t>(value))
      .with_limit(static_cast<std::int64_t>(expected))
      .with_hint("the plan is damaged: make it anew with `omnibal plan` or `omnibal pack`");
}

/// Squares and sums of lengths stay far inside 64 bits.
constexpr std::uint32_t kLengthLimit = std::uint32_t{1} << 31;

Status check_lengths(const std::string& path, std::span<const std::uint32_t> lengths) {
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < kLengthLimit) continue;
    return Error(ErrorCode::kInvalidPlan,
                 fmt::format("entry {} is {}, no sample is as long", i, lengths[i]))
        .in_file(path)
        .at_row(static_cast<std::int64_t>(i))
        .with_value(std::int64_t{lengths[i]})
        .with_limit(std::int64_t{kLengthLimit} - 1);
  }
  return {};
}

/// [steps, micro-batches, dp]: at least one of each, and no larger step than can be formed.
Status check_step_shape(const std::string& path, const std::vector<std::int64_t>& shape) {
  const bool empty = std::ranges::any_of(shape, [](std::int64_t extent) { return extent < 1; });
  if (!empty && shape[2] <= steps::kLargestStep && shape[1] <= steps::kLargestStep / shape[2]) {
    return {};
  }
  return Error(ErrorCode::kInvalidPlan,
               fmt::format("the shape is ({}): {}", fmt::join(shape, ", "),
                           empty ? "a plan with steps has at least one of each extent"
                                 : "a step holds too many packs"))
      .in_file(path)
      .with_limit(empty ? 1 : steps::kLargestStep);
}

/// What tail policy `drop` leaves out: later epochs deal it too.
Result<std::vector<std::int64_t>> dropped_packs(const codec::Json& document) {
  const std::string path(kPlanDocument);
  OMNIBAL_ASSIGN(const codec::Json* steps, codec::JsonFields(document, path).object("steps"));
  const codec::JsonFields fields(*steps, path, "steps");
  if (!fields.has("dropped_pack_ids")) return std::vector<std::int64_t>();
  return fields.integers("dropped_pack_ids", 0, std::numeric_limits<std::int64_t>::max());
}

/// Opens an array, keeps its mapping in `files` and points `column` at it.
template <class T>
Status map_column(const std::string& path, std::size_t num_dimensions,
                  std::vector<codec::NpyFile>& files, std::span<const T>& column) {
  OMNIBAL_ASSIGN(codec::NpyFile file, codec::NpyFile::open(path));
  OMNIBAL_ASSIGN(column, file.as<T>(num_dimensions));
  files.push_back(std::move(file));
  return {};
}

/// A file without the part of plan.json that tells of it: plan.json was damaged.
Status check_told(const codec::Json& document, const char* key, const std::string& directory,
                  const char* file) {
  std::error_code ignored;
  const std::string path = fmt::format("{}/{}", directory, file);
  if (document.contains(key) || !std::filesystem::exists(path, ignored)) return {};
  return Error(ErrorCode::kInvalidPlan,
               fmt::format("{} is there, but {} has no \"{}\"", file, kPlanDocument, key))
      .in_file(path)
      .at_key(key);
}

}  // namespace

Status PlanReader::read_packs(const std::string& directory) {
  OMNIBAL_RETURN_IF_ERROR(map_column(directory + "/pack_offsets.npy", 1, files_, pack_offsets_));
  OMNIBAL_RETURN_IF_ERROR(map_column(directory + "/pack_samples.npy", 1, files_, pack_samples_));
  OMNIBAL_RETURN_IF_ERROR(map_column(directory + "/supervised.npy", 1, files_, supervised_));
  const std::string load_path = directory + "/pack_load.npy";
  std::span<const std::int64_t> loads;
  OMNIBAL_RETURN_IF_ERROR(map_column(load_path, 2, files_, loads));
  if (files_.back().shape()[1] != 3) {
    return lengths_disagree(load_path, static_cast<std::size_t>(files_.back().shape()[1]), 3);
  }
  pack_loads_ = {reinterpret_cast<const metrics::PackLoad*>(loads.data()), loads.size() / 3};
  if (pack_offsets_.size() != pack_loads_.size() + 1) {
    return lengths_disagree(load_path, pack_loads_.size() + 1, pack_offsets_.size());
  }
  if (supervised_.size() != pack_loads_.size()) {
    return lengths_disagree(directory + "/supervised.npy", supervised_.size(), pack_loads_.size());
  }
  return {};
}

Status PlanReader::read_samples(const std::string& directory) {
  const auto in = [&directory](const char* name) { return directory + "/" + name; };
  OMNIBAL_RETURN_IF_ERROR(map_column(in("sample_vision.npy"), 1, files_, sample_vision_));
  OMNIBAL_RETURN_IF_ERROR(map_column(in("sample_tokens.npy"), 1, files_, sample_tokens_));
  OMNIBAL_RETURN_IF_ERROR(map_column(in("sample_source.npy"), 1, files_, sample_source_));
  OMNIBAL_RETURN_IF_ERROR(map_column(in("sample_row.npy"), 1, files_, sample_row_));
  const std::size_t num_samples = sample_vision_.size();
  for (const auto& [name, size] : {std::pair{"sample_tokens.npy", sample_tokens_.size()},
                                   std::pair{"sample_source.npy", sample_source_.size()},
                                   std::pair{"sample_row.npy", sample_row_.size()}}) {
    if (size != num_samples) return lengths_disagree(in(name), size, num_samples);
  }
  OMNIBAL_RETURN_IF_ERROR(check_lengths(in("sample_vision.npy"), sample_vision_));
  return check_lengths(in("sample_tokens.npy"), sample_tokens_);
}

Status PlanReader::read_optional_parts(const std::string& directory) {
  OMNIBAL_RETURN_IF_ERROR(check_told(document_, "steps", directory, "steps.npy"));
  OMNIBAL_RETURN_IF_ERROR(check_told(document_, "partition", directory, "profile.json"));
  if (document_.contains("steps")) {
    const std::string path = directory + "/steps.npy";
    OMNIBAL_ASSIGN(const codec::NpyFile file, codec::NpyFile::open(path));
    OMNIBAL_ASSIGN(const std::span<const std::int64_t> ids, file.as<std::int64_t>(3));
    OMNIBAL_RETURN_IF_ERROR(check_step_shape(path, file.shape()));
    steps::StepTable& table = steps_.emplace();
    table.num_steps = file.shape()[0];
    table.micro_batches = file.shape()[1];
    table.dp = file.shape()[2];
    table.pack_ids.assign(ids.begin(), ids.end());
    OMNIBAL_ASSIGN(table.dropped, dropped_packs(document_));
  }
  if (document_.contains("partition")) {
    OMNIBAL_ASSIGN(profile_, cost::read_profile(directory + "/profile.json"));
  }
  return {};
}

Result<PlanReader> PlanReader::open(const std::string& directory) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(directory, ignored)) {
    return Error(ErrorCode::kFileNotFound, "there is no plan directory of this name")
        .in_file(directory)
        .with_hint("make one with `omnibal plan ... --out DIR`");
  }
  PlanReader plan;
  const std::string path = fmt::format("{}/{}", directory, kPlanDocument);
  OMNIBAL_ASSIGN(plan.document_, codec::read_json(path));
  OMNIBAL_RETURN_IF_ERROR(codec::check_format(plan.document_, path, kPlanFormat, kPlanVersion));
  OMNIBAL_RETURN_IF_ERROR(plan.read_packs(directory));
  OMNIBAL_RETURN_IF_ERROR(plan.read_samples(directory));
  OMNIBAL_RETURN_IF_ERROR(plan.read_optional_parts(directory));
  return plan;
}

const std::string& plan_document_name() {
  static const std::string name(kPlanDocument);
  return name;
}

}  // namespace omnibal::plan
