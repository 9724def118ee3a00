// SPDX-License-Identifier: Apache-2.0
//
// An independent judge of a plan directory: re-reads every file, recomputes every claim from the
// arrays, trusts nothing that the planner said.
//
//   OMNIBAL_ASSIGN(const Verdict verdict, verify_plan("plan", {}));
//   verdict.ok();   // false: verdict.checks names what is wrong
//
// Not a repair tool, and no judge of whether a better plan exists.
#pragma once

#include <string>
#include <vector>

#include "omnibal/base/progress.h"
#include "omnibal/base/result.h"

namespace omnibal::verify {

struct Check {
  std::string name;  // "exactly_once"
  bool ok = true;
  std::string detail;  // what was checked, or the first violation
};

struct Verdict {
  std::vector<Check> checks;
  bool ok() const;
};

struct VerifyOptions {
  bool ignore_checksums = false;
  int threads = 0;
};

/// Error only if there is no such directory (kFileNotFound); a damaged plan is a verdict.
/// O(samples + packs log packs + simulated actions).
Result<Verdict> verify_plan(const std::string& directory, const VerifyOptions& options,
                            const Progress& progress = {});

}  // namespace omnibal::verify
