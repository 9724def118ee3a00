// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <tuple>

#include "omnibal/base/parallel.h"
#include "omnibal/partition/partition.h"
#include "partition/neighbours.h"

namespace omnibal::partition {
namespace {

/// Variances within 1 % are a tie.
constexpr double kTie = 1.01;
/// Costs that are equal but for rounding may come out of order: enumerate a little farther.
constexpr double kRoundingSlack = 1 + 1e-9;

Status check(const BmpProblem& problem, const BmpOptions& options) {
  OMNIBAL_RETURN_IF_ERROR(
      check_stages(static_cast<std::int64_t>(problem.forward_s.size()), problem.num_stages));
  if (options.radius < 0) {
    return Error(ErrorCode::kInvalidArgument, "the radius of the search is negative")
        .at_key("radius")
        .with_value(std::int64_t{options.radius})
        .with_limit(std::int64_t{0});
  }
  if (options.candidates < 1) {
    return Error(ErrorCode::kInvalidArgument, "at least one candidate must be simulated")
        .at_key("candidates")
        .with_value(std::int64_t{options.candidates})
        .with_limit(std::int64_t{1});
  }
  return {};
}

std::int64_t sum_comm_bytes(const BmpProblem& problem, const Cuts& cuts) {
  std::int64_t bytes = 0;
  for (const LayerIndex cut : cuts) {
    bytes += problem.boundary_bytes[static_cast<std::size_t>(cut.value()) - 1];
  }
  return bytes;
}

/// Neighbours of least variance: all of every group of ties that the first `wanted` belong to.
std::vector<RankedCuts> least_variance_groups(const BmpProblem& problem, const Cuts& anchor,
                                              const BmpOptions& options) {
  Neighbours neighbours(problem.forward_s, anchor, options.radius);
  const auto wanted = static_cast<std::size_t>(options.candidates);
  const std::size_t most = std::max(wanted, static_cast<std::size_t>(kMaxNeighbours));
  std::vector<RankedCuts> found;
  double group_limit = -1;
  while (found.size() < most) {
    std::optional<ScoredCuts> next = neighbours.next();
    if (!next) break;
    if (next->squared_deviations > group_limit) {
      if (found.size() >= wanted) break;
      group_limit = next->squared_deviations * kTie * kRoundingSlack;
    }
    const std::int64_t bytes = sum_comm_bytes(problem, next->cuts);
    found.push_back(
        {std::move(next->cuts), next->squared_deviations / problem.num_stages, bytes, 0});
  }
  return found;
}

void order_by_variance_then_comm(std::vector<RankedCuts>& found) {
  std::sort(found.begin(), found.end(), [](const RankedCuts& a, const RankedCuts& b) {
    return std::tie(a.var_forward, a.cuts) < std::tie(b.var_forward, b.cuts);
  });
  for (auto group = found.begin(); group != found.end();) {
    const double limit = group->var_forward * kTie;
    const auto end = std::find_if(
        group, found.end(), [&](const RankedCuts& ranked) { return ranked.var_forward > limit; });
    std::sort(group, end, [](const RankedCuts& a, const RankedCuts& b) {
      return std::tie(a.sum_comm_bytes, a.var_forward, a.cuts) <
             std::tie(b.sum_comm_bytes, b.var_forward, b.cuts);
    });
    group = end;
  }
}

}  // namespace

Result<std::vector<RankedCuts>> rank_neighbours(const BmpProblem& problem,
                                                const BmpOptions& options) {
  OMNIBAL_RETURN_IF_ERROR(check(problem, options));
  OMNIBAL_ASSIGN(const Cuts anchor, partition_anchor(problem.forward_s, problem.num_stages));
  std::vector<RankedCuts> ranked = least_variance_groups(problem, anchor, options);
  order_by_variance_then_comm(ranked);
  ranked.resize(std::min(ranked.size(), static_cast<std::size_t>(options.candidates)));
  return ranked;
}

Result<std::vector<RankedCuts>> partition_bmp(const BmpProblem& problem, const BmpOptions& options,
                                              const Evaluator& evaluate) {
  OMNIBAL_ASSIGN(std::vector<RankedCuts> ranked, rank_neighbours(problem, options));
  parallel_for_each(ranked.size(), options.threads,
                    [&](std::size_t i) { ranked[i].makespan_s = evaluate(ranked[i].cuts); });
  std::stable_sort(ranked.begin(), ranked.end(), [](const RankedCuts& a, const RankedCuts& b) {
    return a.makespan_s < b.makespan_s;
  });
  return ranked;
}

}  // namespace omnibal::partition
