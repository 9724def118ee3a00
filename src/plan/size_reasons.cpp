// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "plan/size_candidate.h"

namespace omnibal::plan {
namespace {

struct Part {
  double TimeShares::*share;
  std::string_view name;
};
constexpr std::array kParts = {
    Part{&TimeShares::replicated, "replicated attention heads"},
    Part{&TimeShares::tensor, "tensor-parallel collectives"},
    Part{&TimeShares::recompute, "recomputation"},
    Part{&TimeShares::idle, "idle time (bubble, imbalance, transfers)"},
};

/// Device-days of an epoch that go to a part.
double days_of(const SizeCandidate& candidate, const Part& part) {
  return candidate.gpu_days * candidate.shares.*part.share;
}

std::string why_it_loses(const SizeCandidate& candidate, const SizeCandidate& best) {
  const auto more = [&](const Part& part) {
    return days_of(candidate, part) - days_of(best, part);
  };
  const Part& worst = *std::ranges::max_element(kParts, {}, more);
  return fmt::format("{} takes {:.1f} % of the time, {:.1f} % in the best", worst.name,
                     100 * candidate.shares.*worst.share, 100 * best.shares.*worst.share);
}

}  // namespace

void explain(std::vector<SizeCandidate>& ranked) {
  SizeCandidate& best = ranked.front();
  const Part& worst = *std::ranges::max_element(
      kParts, {}, [&](const Part& part) { return best.shares.*part.share; });
  best.reason = fmt::format("{:.1f} % of the time computes the model; {} takes {:.1f} %",
                            100 * best.shares.model, worst.name, 100 * best.shares.*worst.share);
  for (SizeCandidate& other : std::span(ranked).subspan(1)) {
    other.reason = why_it_loses(other, best);
  }
}

}  // namespace omnibal::plan
