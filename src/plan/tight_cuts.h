// SPDX-License-Identifier: Apache-2.0
//
// TightCuts: cuts for a memory so short that cuts by time alone do not fit. Choosing them together
// with recomputation takes tens of milliseconds, and hundreds of caps are looked at: caps that are
// near each other share them.
//
//   TightCuts tight(caps);
//   OMNIBAL_ASSIGN(const PipelineChoice choice, tight.choose(problem, at_caps));
//
// Not the cuts of a plan: joint_choice.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "omnibal/base/result.h"
#include "plan/pipeline_choice.h"

namespace omnibal::plan {

/// Cuts and recomputation of whole layers chosen together (room joint), judged by a step of mean
/// packs with free links. Errors: those of joint::solve.
Result<PipelineChoice> choose_together(const PipelineProblem& problem);

/// Of problems that differ in their packs alone. Threads may share it: what it answers does not
/// depend on what was asked before.
class TightCuts {
 public:
  /// Above `caps`, caps are looked at in order: larger ones than any that do not fit do not either.
  explicit TightCuts(const metrics::PackCaps& caps);

  /// The problem at other caps, mean packs likewise.
  using AtCaps =
      std::function<Result<PipelineProblem>(std::int64_t vision_cap, std::int64_t token_cap)>;

  /// The cuts of caps rounded down (in steps of about a fifth) where those fit, else of caps
  /// rounded up; recomputation by BAR. Error: kMemoryInfeasible, also where cuts of its own would
  /// just fit: choose_together.
  Result<PipelineChoice> choose(const PipelineProblem& problem, const AtCaps& at_caps);

 private:
  using Caps = std::pair<std::int64_t, std::int64_t>;  // vision units, tokens

  /// Absent: nothing fits.
  std::optional<partition::Cuts> cuts_at(const Caps& caps, const AtCaps& at_caps);

  bool smaller_ones_fit(const Caps& caps, const AtCaps& at_caps);

  Caps floor_;
  std::mutex mutex_;
  std::map<Caps, std::optional<partition::Cuts>> found_;
};

}  // namespace omnibal::plan
