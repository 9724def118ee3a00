// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>

#include "omnibal/base/name_table.h"
#include "pack/admission.h"

namespace omnibal::pack {
namespace {

constexpr std::array kPolicies = {Named{OverLong::kReject, "reject"},
                                  Named{OverLong::kError, "error"},
                                  Named{OverLong::kTruncate, "truncate"}};

Status check_range(std::string_view key, std::int64_t value, std::int64_t min, std::int64_t max) {
  if (value >= min && value <= max) return {};
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("{} must be between {} and {}", key, min, max))
      .at_key(std::string(key))
      .with_value(value)
      .with_limit(value < min ? min : max);
}

/// The key of a length list that holds what the reason is about.
std::string key_of(const Rejection& rejection) {
  return rejection.reason == "vision" || rejection.reason == "media" ? "vit_num" : "token_num";
}

}  // namespace

PackLimits PackLimits::with_paper_floors(std::int64_t vision_cap, std::int64_t token_cap) {
  constexpr std::int64_t kFloorBelowTokenCap = 128;
  PackLimits limits;
  limits.vision_cap = vision_cap;
  limits.token_cap = token_cap;
  limits.vision_floor = vision_cap;
  limits.token_floor = std::max<std::int64_t>(0, token_cap - kFloorBelowTokenCap);
  return limits;
}

Status check_limits(const PackLimits& limits) {
  constexpr std::int64_t kAny = std::int64_t{1} << 62;
  OMNIBAL_RETURN_IF_ERROR(check_range("vision_cap", limits.vision_cap, 1, kLargestCap));
  OMNIBAL_RETURN_IF_ERROR(check_range("token_cap", limits.token_cap, 1, kLargestCap));
  OMNIBAL_RETURN_IF_ERROR(check_range("vision_floor", limits.vision_floor, 0, kAny));
  OMNIBAL_RETURN_IF_ERROR(check_range("token_floor", limits.token_floor, 0, kAny));
  OMNIBAL_RETURN_IF_ERROR(check_range("rounds", limits.rounds, 1, kLargestCap));
  OMNIBAL_RETURN_IF_ERROR(check_range("max_samples", limits.max_samples, 0, kLargestCap));
  OMNIBAL_RETURN_IF_ERROR(check_range("token_multiple", limits.token_multiple, 1, kAny));
  if (limits.token_multiple <= limits.token_cap) return {};
  return Error(ErrorCode::kOutOfRange,
               fmt::format("packs are padded to multiples of {} tokens, the cap is {}",
                           limits.token_multiple, limits.token_cap))
      .at_key("token_cap")
      .with_value(limits.token_cap)
      .with_limit(limits.token_multiple)
      .with_hint("raise the token cap, or lower tp or cp");
}

std::string_view to_string(OverLong policy) { return name_in(kPolicies, policy); }

std::vector<std::string> over_long_names() { return names_in(kPolicies); }

Result<OverLong> parse_over_long(std::string_view name) {
  return parse_name(kPolicies, "over-long policy", "over_long", name);
}

std::int64_t token_multiple(std::int64_t cp, std::int64_t tp) {
  if (cp * tp <= 1) return 1;
  constexpr std::int64_t kTensorCoreMultiple = 8;
  return std::lcm(std::lcm(2 * cp, cp * tp), kTensorCoreMultiple);
}

std::optional<Rejection> reason_against(std::uint32_t sample, std::int64_t vision,
                                        std::int64_t tokens, const metrics::PackCaps& caps,
                                        bool allow_empty) {
  if (tokens > caps.tokens) return Rejection{sample, "tokens", tokens, caps.tokens};
  if (vision > caps.vision_units) return Rejection{sample, "vision", vision, caps.vision_units};
  if (tokens == 0 && !allow_empty) return Rejection{sample, "zero_tokens", 0, 1};
  return std::nullopt;
}

Status check_admission(const PackLimits& limits, const AdmissionOptions& options) {
  OMNIBAL_RETURN_IF_ERROR(check_limits(limits));
  if (!options.allow_empty || limits.max_samples > 0) return {};
  return Error(ErrorCode::kInvalidArgument,
               "samples of 0 tokens need a limit on the samples of a pack")
      .at_key("max_samples")
      .with_value(std::int64_t{0});
}

bool is_fatal(const Rejection& rejection, const AdmissionOptions& options) {
  return options.over_long == OverLong::kError && rejection.reason != "zero_tokens";
}

Error nothing_usable(std::int64_t num_samples, const Rejection* first, std::int64_t row) {
  Error error(ErrorCode::kNothingUsable, fmt::format("0 of {} samples are usable", num_samples));
  if (first == nullptr) return error;
  return std::move(error)
      .at_row(row)
      .at_key(key_of(*first))
      .with_value(first->value)
      .with_limit(first->limit)
      .with_hint("the first sample is shown; raise the caps or repair the lengths");
}

Error over_long_error(const Rejection& rejection, std::int64_t row) {
  const bool tokens = rejection.reason == "tokens";
  return Error(tokens ? ErrorCode::kTokenCapExceeded : ErrorCode::kVisionCapExceeded,
               tokens ? "a sample has more tokens than a pack may hold"
                      : "a sample has more vision units than a pack may hold")
      .at_row(row)
      .at_key(key_of(rejection))
      .with_value(rejection.value)
      .with_limit(rejection.limit)
      .with_hint(fmt::format("raise --{}-cap, or leave such samples out with --over-long reject",
                             tokens ? "token" : "vision"));
}

Result<Admission> admit(const metrics::SampleColumns& samples, const PackLimits& limits,
                        const AdmissionOptions& options, const CutColumns& cut) {
  OMNIBAL_RETURN_IF_ERROR(check_admission(limits, options));
  const bool truncates = options.over_long == OverLong::kTruncate;
  assert(!truncates || cut.supervised.size() == samples.tokens.size());
  const metrics::PackCaps caps = limits.caps();
  Admission admission;
  admission.accepted.reserve(samples.tokens.size());
  for (std::uint32_t i = 0; i < samples.tokens.size(); ++i) {
    auto reason =
        reason_against(i, samples.vision[i], samples.tokens[i], caps, options.allow_empty);
    if (truncates && samples.tokens[i] > caps.tokens) {
      const std::variant<Truncation, Rejection> outcome = cut_to_fit(i, samples, cut, caps);
      if (const auto* shorter = std::get_if<Truncation>(&outcome)) {
        admission.truncated.push_back(*shorter);
        reason.reset();
      } else {
        reason = std::get<Rejection>(outcome);
      }
    }
    if (!reason) {
      admission.accepted.push_back(i);
    } else if (is_fatal(*reason, options)) {
      return over_long_error(*reason, i);
    } else {
      admission.rejected.push_back(*reason);
    }
  }
  if (admission.accepted.empty()) {
    const Rejection* const first =
        admission.rejected.empty() ? nullptr : &admission.rejected.front();
    return nothing_usable(static_cast<std::int64_t>(samples.tokens.size()), first,
                          first == nullptr ? 0 : first->sample);
  }
  return admission;
}

}  // namespace omnibal::pack
