// SPDX-License-Identifier: Apache-2.0
//
// The cursor file: where a run stands in a plan (docs/formats.md), and how the plan's steps are
// read from there.
//
//   OMNIBAL_ASSIGN(const PlanReader plan, PlanReader::open("plan"));
//   OMNIBAL_ASSIGN(const steps::StepSource source, step_source(plan));
//   OMNIBAL_ASSIGN(const PlanCursor cursor, read_cursor("cursor.json"));
//   OMNIBAL_RETURN_IF_ERROR(check_is_of(cursor, *identify(plan, "plan"), "cursor.json"));
//   OMNIBAL_ASSIGN(steps::StepReader reader, steps::StepReader::open(source, cursor.at));
//
// Not for what a trainer keeps beside it: weights and optimizer states are its own.
#pragma once

#include <string>
#include <string_view>

#include "omnibal/base/result.h"
#include "omnibal/codec/json.h"
#include "omnibal/plan/plan_directory.h"
#include "omnibal/steps/step_reader.h"

namespace omnibal::plan {

/// Which plan it is. `hash` decides; the other two tell why it differs.
struct PlanIdentity {
  std::string hash;     // XXH128 of checksums.txt: of every file of the plan
  std::string inputs;   // of the hashes of what was read
  std::string options;  // of what the user asked for, seed included

  friend bool operator==(const PlanIdentity&, const PlanIdentity&) = default;
};

/// The same wherever the plan lies and whenever it was made. Reads checksums.txt alone. Errors:
/// those of hash_file; kMissingKey, kWrongType.
Result<PlanIdentity> identify(const PlanReader& plan, const std::string& directory);

struct PlanCursor {
  PlanIdentity plan;
  steps::StepCursor at;
};

inline constexpr std::string_view kCursorFormat = "omnibal.cursor";
inline constexpr std::int64_t kCursorVersion = 1;

/// {format, version, plan {hash, inputs, options}, epoch, step, dp, micro_batches, changes[]
/// {epoch, step, dp, micro_batches}}.
codec::Json to_json(const PlanCursor& cursor);
/// `origin` is named in errors: kUnknownFormat, kUnsupportedVersion, kMissingKey, kUnknownKey,
/// kWrongType, kOutOfRange. Whether the plan has such a place is StepReader::open's to say.
Result<PlanCursor> parse_cursor(const codec::Json& document, const std::string& origin);
/// parse_cursor of a file; also those of read_json.
Result<PlanCursor> read_cursor(const std::string& path);
/// Written atomically. Error: kWriteFailed.
Status write_cursor(const PlanCursor& cursor, const std::string& path);

/// kStalePlan, naming what differs: a cursor of another plan leads to other packs.
Status check_is_of(const PlanCursor& cursor, const PlanIdentity& plan, const std::string& origin);

/// The steps of `plan`, which must outlive the result, with the options that formed them. Errors:
/// kInvalidPlan (a plan without steps), those of JsonFields.
Result<steps::StepSource> step_source(const PlanReader& plan);

}  // namespace omnibal::plan
