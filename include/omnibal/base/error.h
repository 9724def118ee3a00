// SPDX-License-Identifier: Apache-2.0
//
// Error: one thing that went wrong, told so that a user can act on it.
//
//   return Error(ErrorCode::kTokenCapExceeded, "sample has more tokens than a pack may hold")
//       .in_file("lengths.json").at_row(3).at_key("token_num")
//       .with_value(5000).with_limit(4096).with_hint("raise --token-cap or use --over-long
//       reject");
//
// Not for a programmer's mistake: that is an assertion.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace omnibal {

/// Every way in which a command can fail. `error_code_info` names each and gives its exit code;
/// docs/formats.md lists them.
enum class ErrorCode {
  // Wrong usage (exit code 2).
  kUnknownCommand,
  kInvalidArgument,
  kSizesDoNotDivide,
  // Bad input (exit code 3).
  kFileNotFound,
  kFileUnreadable,
  kEmptyInput,
  kMalformedJson,
  kMalformedToml,
  kMalformedNpy,
  kMalformedImage,
  kImageTooLarge,
  kMalformedSafetensors,
  kMissingTensor,
  kUnknownFormat,
  kUnsupportedVersion,
  kChecksumMismatch,
  kMissingKey,
  kUnknownKey,
  kDuplicateKey,
  kDuplicateName,
  kConflictingKeys,
  kWrongType,
  kOutOfRange,
  kNothingUsable,
  kTokenCapExceeded,
  kVisionCapExceeded,
  kLintFailed,
  kMissingLayer,
  kUnknownPreset,
  kUnsupportedModel,
  kInvalidPlan,
  kStalePlan,
  // No feasible answer (exit code 4).
  kTooManyStages,
  kMemoryInfeasible,
  kNoFeasibleLimits,
  kTooSlow,
  // Anything else (exit code 1).
  kWriteFailed,
  kWouldOverwrite,
  kPeerFailed,
  kWaitTooLong,
  kInternal,
};

struct ErrorCodeInfo {
  ErrorCode code;
  std::string_view name;  // as in JSON: "token_cap_exceeded"
  int exit_code;
};

/// The table's row of `code`.
const ErrorCodeInfo& error_code_info(ErrorCode code);
/// The code of that name; nothing if there is none.
std::optional<ErrorCode> error_code_named(std::string_view name);

/// Nothing, a whole number, a real number or a text.
using ErrorValue = std::variant<std::monostate, std::int64_t, double, std::string>;

struct Error {
  struct Where {
    std::string file;                 // as the user typed it; empty: no file
    std::optional<std::int64_t> row;  // 0-based row or 1-based line, as `message` says
    std::string key;
  };

  Error(ErrorCode error_code, std::string text) : code(error_code), message(std::move(text)) {}

  // By value, so that `error = std::move(error).at_row(3)` is safe.
  Error in_file(std::string file) &&;
  Error at_row(std::int64_t row) &&;
  Error at_key(std::string key) &&;
  Error with_value(std::int64_t v) &&;
  Error with_value(double v) &&;
  Error with_value(std::string v) &&;
  Error with_limit(std::int64_t v) &&;
  Error with_limit(double v) &&;
  Error with_limit(std::string v) &&;
  Error with_hint(std::string text) &&;

  ErrorCode code;
  std::string message;
  Where where;
  ErrorValue value;
  ErrorValue limit;
  std::string hint;
};

/// The error as the command line prints it: at most ten lines (what; where; value and limit; what
/// to do next).
std::string to_text(const Error& error);

}  // namespace omnibal
