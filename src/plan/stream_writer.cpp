// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "omnibal/base/version.h"
#include "omnibal/codec/atomic_write.h"
#include "omnibal/codec/hash.h"
#include "omnibal/codec/npy.h"
#include "omnibal/plan/stream_state.h"
#include "omnibal/steps/step_summary.h"
#include "plan/stream_files.h"

namespace omnibal::plan {
namespace {

using codec::Json;
using Values = std::vector<std::int64_t>;

codec::DirectoryKind stream_directory() {
  codec::DirectoryKind kind{
      std::string(kStreamDocument), std::string(kStreamFormat), {std::string(kStreamDocument)}};
  for (const StreamArray& array : kStreamArrays) kind.files.emplace_back(array.file);
  return kind;
}

Json totals_json(const StreamTotals& totals) {
  return {{"rejected", totals.rejected},
          {"packs", totals.packs},
          {"vision_units", totals.vision_units},
          {"tokens", totals.tokens},
          {"padding", totals.padding},
          {"over_cap", totals.over_cap},
          {"duplicated", totals.duplicated},
          {"samples_in_steps", totals.samples_in_steps},
          {"squared_step_samples", totals.squared_step_samples},
          {"balanced_rows", totals.balanced_rows},
          {"dist_sum", steps::to_json(totals.dist_sum)},
          {"peak_samples", totals.peak_samples},
          {"peak_packs", totals.peak_packs}};
}

Json document_of(const StreamState& state, const StreamOptions& options, const Json& notes) {
  const steps::StreamStepState& steps = state.steps;
  return {{"format", kStreamFormat},
          {"version", kStreamVersion},
          {"tool", fmt::format("omnibal {}", version())},
          {"options", to_json(options)},
          {"samples", state.packing.samples},
          {"fingerprint", fmt::format("{:016x}", state.fingerprint)},
          {"pack_windows", state.packing.windows},
          {"groupings", steps.groupings},
          {"steps", steps.steps},
          {"finished", steps.finished},
          {"zero_weight_packs", steps.zero_weight_packs},
          {"dropped_packs", steps.dropped_packs},
          {"repeated_packs", steps.repeated_packs},
          {"first_pack", state.first_pack},
          {"totals", totals_json(state.totals)},
          {"notes", notes}};
}

Values ids_of(const std::vector<steps::ArrivedPack>& packs) {
  Values ids;
  for (const steps::ArrivedPack& pack : packs) ids.push_back(pack.id);
  return ids;
}

std::array<Values, kStreamArrays.size()> arrays_of(const StreamState& state) {
  std::array<Values, kStreamArrays.size()> arrays;
  for (const auto& [sample, windows] : state.packing.waiting) {
    arrays[kSamples].insert(arrays[kSamples].end(),
                            {sample.id, sample.vision, sample.tokens, windows});
  }
  for (std::size_t i = 0; i < state.packs.size(); ++i) {
    const auto& [pack, has_run] = state.packs[i];
    if (pack.samples.empty()) continue;
    arrays[kPacks].insert(
        arrays[kPacks].end(),
        {state.first_pack + static_cast<std::int64_t>(i), pack.load.vision_units, pack.load.tokens,
         pack.load.token_pairs, static_cast<std::int64_t>(pack.samples.size()), has_run ? 1 : 0});
    arrays[kPackSamples].insert(arrays[kPackSamples].end(), pack.samples.begin(),
                                pack.samples.end());
  }
  for (const auto* window : {&state.steps.with_vision, &state.steps.idle}) {
    for (const auto& [pack, groupings] : *window) {
      arrays[kWaiting].insert(arrays[kWaiting].end(), {pack.id, groupings});
    }
  }
  arrays[kReady] = ids_of(state.steps.ready);
  arrays[kLastStep] = ids_of(state.steps.last_step);
  return arrays;
}

Status write_array(const std::string& path, const StreamArray& array, const Values& values) {
  const auto size = static_cast<std::int64_t>(values.size());
  if (array.columns == 1) return codec::write_npy<std::int64_t>(path, std::array{size}, values);
  return codec::write_npy<std::int64_t>(path, std::array{size / array.columns, array.columns},
                                        values);
}

}  // namespace

std::string hash_of_stream(Json document, std::span<const std::span<const std::int64_t>> arrays) {
  document.erase("hash");
  codec::Hasher hasher;
  hasher.add(document.dump(-1, ' ', false, Json::error_handler_t::replace));
  for (const std::span<const std::int64_t> values : arrays) hasher.add(std::as_bytes(values));
  return hasher.hex();
}

Status check_stream_directory(const std::string& directory) {
  OMNIBAL_RETURN_IF_ERROR(codec::StagedDirectory::create(directory, stream_directory()));
  return {};
}

Status save_stream(const StreamPlanner& planner, const Json& notes, const std::string& directory) {
  OMNIBAL_ASSIGN(codec::StagedDirectory staged,
                 codec::StagedDirectory::create(directory, stream_directory()));
  const StreamState state = planner.state();
  const auto arrays = arrays_of(state);
  const std::vector<std::span<const std::int64_t>> hashed(arrays.begin(), arrays.end());
  Json document = document_of(state, planner.options(), notes);
  document["hash"] = hash_of_stream(document, hashed);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const StreamArray& array = kStreamArrays[i];
    OMNIBAL_RETURN_IF_ERROR(
        write_array(fmt::format("{}/{}", staged.path(), array.file), array, arrays[i]));
  }
  OMNIBAL_RETURN_IF_ERROR(
      codec::write_json(fmt::format("{}/{}", staged.path(), kStreamDocument), document));
  return staged.commit();
}

}  // namespace omnibal::plan
