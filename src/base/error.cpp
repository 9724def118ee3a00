// SPDX-License-Identifier: Apache-2.0
#include "omnibal/base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>

namespace omnibal {
namespace {

constexpr int kUsage = 2;
constexpr int kBadInput = 3;
constexpr int kInfeasible = 4;
constexpr int kOther = 1;

constexpr std::array kTable = {
    ErrorCodeInfo{ErrorCode::kUnknownCommand, "unknown_command", kUsage},
    ErrorCodeInfo{ErrorCode::kInvalidArgument, "invalid_argument", kUsage},
    ErrorCodeInfo{ErrorCode::kSizesDoNotDivide, "sizes_do_not_divide", kUsage},
    ErrorCodeInfo{ErrorCode::kFileNotFound, "file_not_found", kBadInput},
    ErrorCodeInfo{ErrorCode::kFileUnreadable, "file_unreadable", kBadInput},
    ErrorCodeInfo{ErrorCode::kEmptyInput, "empty_input", kBadInput},
    ErrorCodeInfo{ErrorCode::kMalformedJson, "malformed_json", kBadInput},
    ErrorCodeInfo{ErrorCode::kMalformedToml, "malformed_toml", kBadInput},
    ErrorCodeInfo{ErrorCode::kMalformedNpy, "malformed_npy", kBadInput},
    ErrorCodeInfo{ErrorCode::kMalformedImage, "malformed_image", kBadInput},
    ErrorCodeInfo{ErrorCode::kImageTooLarge, "image_too_large", kBadInput},
    ErrorCodeInfo{ErrorCode::kMalformedSafetensors, "malformed_safetensors", kBadInput},
    ErrorCodeInfo{ErrorCode::kMissingTensor, "missing_tensor", kBadInput},
    ErrorCodeInfo{ErrorCode::kUnknownFormat, "unknown_format", kBadInput},
    ErrorCodeInfo{ErrorCode::kUnsupportedVersion, "unsupported_version", kBadInput},
    ErrorCodeInfo{ErrorCode::kChecksumMismatch, "checksum_mismatch", kBadInput},
    ErrorCodeInfo{ErrorCode::kMissingKey, "missing_key", kBadInput},
    ErrorCodeInfo{ErrorCode::kUnknownKey, "unknown_key", kBadInput},
    ErrorCodeInfo{ErrorCode::kDuplicateKey, "duplicate_key", kBadInput},
    ErrorCodeInfo{ErrorCode::kDuplicateName, "duplicate_name", kBadInput},
    ErrorCodeInfo{ErrorCode::kConflictingKeys, "conflicting_keys", kBadInput},
    ErrorCodeInfo{ErrorCode::kWrongType, "wrong_type", kBadInput},
    ErrorCodeInfo{ErrorCode::kOutOfRange, "out_of_range", kBadInput},
    ErrorCodeInfo{ErrorCode::kNothingUsable, "nothing_usable", kBadInput},
    ErrorCodeInfo{ErrorCode::kTokenCapExceeded, "token_cap_exceeded", kBadInput},
    ErrorCodeInfo{ErrorCode::kVisionCapExceeded, "vision_cap_exceeded", kBadInput},
    ErrorCodeInfo{ErrorCode::kLintFailed, "lint_failed", kBadInput},
    ErrorCodeInfo{ErrorCode::kMissingLayer, "missing_layer", kBadInput},
    ErrorCodeInfo{ErrorCode::kUnknownPreset, "unknown_preset", kBadInput},
    ErrorCodeInfo{ErrorCode::kUnsupportedModel, "unsupported_model", kBadInput},
    ErrorCodeInfo{ErrorCode::kInvalidPlan, "invalid_plan", kBadInput},
    ErrorCodeInfo{ErrorCode::kStalePlan, "stale_plan", kBadInput},
    ErrorCodeInfo{ErrorCode::kTooManyStages, "too_many_stages", kInfeasible},
    ErrorCodeInfo{ErrorCode::kMemoryInfeasible, "memory_infeasible", kInfeasible},
    ErrorCodeInfo{ErrorCode::kNoFeasibleLimits, "no_feasible_limits", kInfeasible},
    ErrorCodeInfo{ErrorCode::kTooSlow, "too_slow", kInfeasible},
    ErrorCodeInfo{ErrorCode::kWriteFailed, "write_failed", kOther},
    ErrorCodeInfo{ErrorCode::kWouldOverwrite, "would_overwrite", kOther},
    ErrorCodeInfo{ErrorCode::kPeerFailed, "peer_failed", kOther},
    ErrorCodeInfo{ErrorCode::kWaitTooLong, "wait_too_long", kOther},
    ErrorCodeInfo{ErrorCode::kInternal, "internal", kOther},
};

constexpr bool table_follows_the_enumeration() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].code) != i) return false;
  }
  return static_cast<std::size_t>(ErrorCode::kInternal) + 1 == kTable.size();
}
static_assert(table_follows_the_enumeration());

std::string to_text(const ErrorValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return "";
}

std::string location(const Error::Where& where) {
  std::string text = where.file;
  const auto add = [&text](const std::string& part) {
    if (!text.empty()) text += ", ";
    text += part;
  };
  if (where.row) add(fmt::format("row {}", *where.row));
  if (!where.key.empty()) add(fmt::format("key \"{}\"", where.key));
  return text;
}

}  // namespace

std::optional<ErrorCode> error_code_named(std::string_view name) {
  const auto* const found = std::ranges::find(kTable, name, &ErrorCodeInfo::name);
  return found == kTable.end() ? std::nullopt : std::optional(found->code);
}

const ErrorCodeInfo& error_code_info(ErrorCode code) {
  return kTable[static_cast<std::size_t>(code)];
}

Error Error::in_file(std::string file) && { return where.file = std::move(file), std::move(*this); }
Error Error::at_row(std::int64_t row) && { return where.row = row, std::move(*this); }
Error Error::at_key(std::string key) && { return where.key = std::move(key), std::move(*this); }
Error Error::with_value(std::int64_t v) && { return value = v, std::move(*this); }
Error Error::with_value(double v) && { return value = v, std::move(*this); }
Error Error::with_value(std::string v) && { return value = std::move(v), std::move(*this); }
Error Error::with_limit(std::int64_t v) && { return limit = v, std::move(*this); }
Error Error::with_limit(double v) && { return limit = v, std::move(*this); }
Error Error::with_limit(std::string v) && { return limit = std::move(v), std::move(*this); }
Error Error::with_hint(std::string text) && { return hint = std::move(text), std::move(*this); }

std::string to_text(const Error& error) {
  std::string text = fmt::format("error: {}\n", error.message);
  if (const std::string where = location(error.where); !where.empty()) {
    text += fmt::format("  where: {}\n", where);
  }
  if (const std::string value = to_text(error.value); !value.empty()) {
    text += fmt::format("  value: {}\n", value);
  }
  if (const std::string limit = to_text(error.limit); !limit.empty()) {
    text += fmt::format("  limit: {}\n", limit);
  }
  if (!error.hint.empty()) text += fmt::format("  next: {}\n", error.hint);
  return text;
}

}  // namespace omnibal
