// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "omnibal/plan/stream_state.h"
#include "plan/stream_arrays.h"

namespace omnibal::plan {
namespace {

using codec::Json;
using codec::JsonFields;
constexpr std::int64_t kMostInRow = INT64_MAX;

Status check_hash(const Json& document, const StreamArrays& arrays, const std::string& path) {
  OMNIBAL_ASSIGN(const std::string saved, JsonFields(document, path).text("hash"));
  const std::string found = hash_of_stream(document, arrays.values);
  if (saved == found) return {};
  return Error(ErrorCode::kChecksumMismatch, "a file of the state was changed or is damaged")
      .in_file(path)
      .at_key("hash")
      .with_value(found)
      .with_limit(saved)
      .with_hint("restore the state, or begin anew without --resume in another directory");
}

/// The first option that differs, whichever object it is in; one of the two may lack it.
Status check_same(const Json& saved, const Json& given, const std::string& path,
                  const std::string& prefix) {
  Json all = given;
  if (saved.is_object()) all.update(saved);
  for (const auto& [key, any] : all.items()) {
    const Json before = saved.is_object() ? saved.value(key, Json()) : Json();
    const Json value = given.value(key, Json());
    if (value.is_object()) {
      OMNIBAL_RETURN_IF_ERROR(check_same(before, value, path, prefix + key + "."));
    } else if (before != value) {
      return Error(ErrorCode::kConflictingKeys,
                   fmt::format("the state was saved with {} {}, now it is {}", key, before.dump(),
                               value.dump()))
          .in_file(path)
          .at_key("options." + prefix + key)
          .with_value(value.dump())
          .with_limit(before.dump())
          .with_hint("resume with the options of the state, or begin anew in another directory");
    }
  }
  return {};
}

Result<StreamTotals> read_totals(const Json& object, const std::string& path) {
  const JsonFields fields(object, path, "totals");
  StreamTotals totals;
  for (const auto& [key, target] : {std::pair{"rejected", &totals.rejected},
                                    {"packs", &totals.packs},
                                    {"vision_units", &totals.vision_units},
                                    {"tokens", &totals.tokens},
                                    {"padding", &totals.padding},
                                    {"over_cap", &totals.over_cap},
                                    {"duplicated", &totals.duplicated},
                                    {"samples_in_steps", &totals.samples_in_steps},
                                    {"squared_step_samples", &totals.squared_step_samples},
                                    {"balanced_rows", &totals.balanced_rows},
                                    {"peak_samples", &totals.peak_samples},
                                    {"peak_packs", &totals.peak_packs}}) {
    OMNIBAL_ASSIGN(*target, fields.integer(key, 0, kMostInRow));
  }
  OMNIBAL_ASSIGN(const Json* sums, fields.object("dist_sum"));
  const JsonFields sum_fields(*sums, path, "totals.dist_sum");
  metrics::DistRatios& sum = totals.dist_sum;
  for (const auto& [key, target] : {std::pair{"vision", &sum.vision},
                                    {"tokens", &sum.tokens},
                                    {"attention", &sum.attention},
                                    {"time", &sum.time}}) {
    OMNIBAL_ASSIGN(*target, sum_fields.number(key, 0, static_cast<double>(kMostInRow)));
  }
  return totals;
}

Status read_fingerprint(const JsonFields& fields, std::uint64_t& fingerprint) {
  constexpr int kHexadecimal = 16;
  OMNIBAL_ASSIGN(const std::string text, fields.text("fingerprint"));
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, fingerprint, kHexadecimal);
  if (problem == std::errc() && stop == end) return {};
  return Error(ErrorCode::kWrongType, "16 hexadecimal digits are needed")
      .at_key("fingerprint")
      .with_value(text);
}

Status read_counters(const Json& document, const std::string& path, StreamState& state) {
  const JsonFields fields(document, path);
  steps::StreamStepState& steps = state.steps;
  for (const auto& [key, target] : {std::pair{"samples", &state.packing.samples},
                                    {"pack_windows", &state.packing.windows},
                                    {"groupings", &steps.groupings},
                                    {"steps", &steps.steps},
                                    {"zero_weight_packs", &steps.zero_weight_packs},
                                    {"dropped_packs", &steps.dropped_packs},
                                    {"repeated_packs", &steps.repeated_packs}}) {
    OMNIBAL_ASSIGN(*target, fields.integer(key, 0, kMostInRow));
  }
  OMNIBAL_ASSIGN(steps.finished, fields.boolean_or("finished", false));
  OMNIBAL_RETURN_IF_ERROR(read_fingerprint(fields, state.fingerprint));
  OMNIBAL_ASSIGN(const Json* totals, fields.object("totals"));
  OMNIBAL_ASSIGN(state.totals, read_totals(*totals, path));
  OMNIBAL_ASSIGN(state.first_pack, fields.integer("first_pack", 0, state.totals.packs));
  return {};
}

Status read_samples(const ArrayRows& rows, const pack::StreamPackOptions& options,
                    pack::StreamPackState& state) {
  OMNIBAL_RETURN_IF_ERROR(rows.check_size(options.window_samples));
  const metrics::PackCaps caps = options.limits.caps();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    OMNIBAL_ASSIGN(const std::int64_t id, rows.at(i, 0, 0, kMostInRow));
    OMNIBAL_ASSIGN(const std::int64_t vision, rows.at(i, 1, 0, caps.vision_units));
    OMNIBAL_ASSIGN(const std::int64_t tokens, rows.at(i, 2, 0, caps.tokens));
    OMNIBAL_ASSIGN(const std::int64_t windows, rows.at(i, 3, 0, pack::kMostPackWindows));
    state.waiting.push_back(
        {{id, static_cast<std::uint32_t>(vision), static_cast<std::uint32_t>(tokens)},
         static_cast<std::uint8_t>(windows)});
  }
  return {};
}

Status read_packs(const ArrayRows& rows, const ArrayRows& samples, StreamState& state) {
  state.packs.resize(static_cast<std::size_t>(state.totals.packs - state.first_pack));
  std::size_t next = 0;
  std::int64_t least_id = state.first_pack;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    OMNIBAL_ASSIGN(const std::int64_t id, rows.at(i, 0, least_id, state.totals.packs - 1));
    least_id = id + 1;
    auto& [pack, has_run] = state.packs[static_cast<std::size_t>(id - state.first_pack)];
    OMNIBAL_ASSIGN(pack.load.vision_units, rows.at(i, 1, 0, kMostInRow));
    OMNIBAL_ASSIGN(pack.load.tokens, rows.at(i, 2, 0, kMostInRow));
    OMNIBAL_ASSIGN(pack.load.token_pairs, rows.at(i, 3, 0, kMostInRow));
    const auto left = static_cast<std::int64_t>(samples.size() - next);
    OMNIBAL_ASSIGN(const std::int64_t size, rows.at(i, 4, 1, left));
    OMNIBAL_ASSIGN(const std::int64_t ran, rows.at(i, 5, 0, 1));
    has_run = ran == 1;
    for (std::int64_t k = 0; k < size; ++k) {
      OMNIBAL_ASSIGN(const std::int64_t sample, samples.at(next++, 0, 0, kMostInRow));
      pack.samples.push_back(sample);
    }
    ++state.held_packs;
    state.held_samples += size;
  }
  return samples.check_size(static_cast<std::int64_t>(next));
}

/// The pack named in the first column of a row, which must be held.
Result<steps::ArrivedPack> held_pack(const ArrayRows& rows, std::size_t row,
                                     const StreamState& state) {
  const auto end = state.first_pack + static_cast<std::int64_t>(state.packs.size());
  OMNIBAL_ASSIGN(const std::int64_t id, rows.at(row, 0, state.first_pack, end - 1));
  const pack::StreamedPack& pack =
      state.packs[static_cast<std::size_t>(id - state.first_pack)].pack;
  if (pack.samples.empty()) OMNIBAL_RETURN_IF_ERROR(rows.at(row, 0, id + 1, kMostInRow));
  return steps::ArrivedPack{id, pack.load};
}

/// `zero_weight`: there may be zero-weight packs among them.
Result<std::vector<steps::ArrivedPack>> read_ids(const ArrayRows& rows, const StreamState& state,
                                                 bool zero_weight) {
  std::vector<steps::ArrivedPack> packs;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (zero_weight && rows.value(i, 0) == steps::kZeroWeightPack) {
      packs.push_back({.id = steps::kZeroWeightPack});
    } else {
      OMNIBAL_ASSIGN(const steps::ArrivedPack pack, held_pack(rows, i, state));
      packs.push_back(pack);
    }
  }
  return packs;
}

Status read_waiting(const ArrayRows& rows, std::int64_t most, StreamState& state) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    OMNIBAL_ASSIGN(const steps::ArrivedPack pack, held_pack(rows, i, state));
    OMNIBAL_ASSIGN(const std::int64_t groupings, rows.at(i, 1, 0, steps::kMostGroupings));
    auto& window = pack.load.vision_units > 0 ? state.steps.with_vision : state.steps.idle;
    window.push_back({pack, static_cast<std::uint8_t>(groupings)});
    if (static_cast<std::int64_t>(window.size()) > most) return rows.too_many(most);
  }
  return {};
}

}  // namespace

Result<SavedStream> load_stream(const std::string& directory, const StreamOptions& options) {
  const std::string path = fmt::format("{}/{}", directory, kStreamDocument);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return Error(ErrorCode::kFileNotFound, "there is no state of a stream to resume")
        .in_file(directory)
        .with_hint("begin without --resume");
  }
  OMNIBAL_ASSIGN(const Json document, codec::read_json(path));
  OMNIBAL_RETURN_IF_ERROR(codec::check_format(document, path, kStreamFormat, kStreamVersion));
  OMNIBAL_ASSIGN(const StreamArrays arrays, open_arrays(directory));
  OMNIBAL_RETURN_IF_ERROR(check_hash(document, arrays, path));
  const JsonFields fields(document, path);
  OMNIBAL_ASSIGN(const Json* saved_options, fields.object("options"));
  OMNIBAL_RETURN_IF_ERROR(check_same(*saved_options, to_json(options), path, ""));
  SavedStream saved;
  OMNIBAL_ASSIGN(const Json* notes, fields.object("notes"));
  saved.notes = *notes;
  StreamState& state = saved.state;
  OMNIBAL_RETURN_IF_ERROR(read_counters(document, path, state));
  const auto rows = [&](StreamArrayIndex index) { return ArrayRows(directory, arrays, index); };
  OMNIBAL_RETURN_IF_ERROR(read_samples(rows(kSamples), options.packing, state.packing));
  OMNIBAL_RETURN_IF_ERROR(read_packs(rows(kPacks), rows(kPackSamples), state));
  OMNIBAL_RETURN_IF_ERROR(
      read_waiting(rows(kWaiting), options.steps.window * options.steps.dp, state));
  OMNIBAL_ASSIGN(state.steps.ready, read_ids(rows(kReady), state, state.steps.finished));
  OMNIBAL_ASSIGN(state.steps.last_step, read_ids(rows(kLastStep), state, state.steps.finished));
  return saved;
}

}  // namespace omnibal::plan
