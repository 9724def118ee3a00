// SPDX-License-Identifier: Apache-2.0
#include "joint/cut_grid.h"

#include <fmt/format.h>

#include <algorithm>

#include "omnibal/base/quantity.h"

namespace omnibal::joint {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

Status check_layer(LayerIndex layer, std::int32_t num_layers, const char* key) {
  if (layer.value() >= 0 && layer.value() < num_layers) return {};
  return Error(ErrorCode::kInvalidArgument, fmt::format("there is no layer {}", layer.value()))
      .at_key(key)
      .with_value(std::int64_t{layer.value()})
      .with_limit(std::int64_t{num_layers} - 1);
}

Status forbid(const Constraints& constraints, CutGrid& grid) {
  for (const LayerIndex cut : constraints.forbidden_cuts) {
    OMNIBAL_RETURN_IF_ERROR(check_layer(cut, grid.num_layers, "forbid_cut"));
    if (cut.value() > 0) grid.allowed[at(cut.value())] = false;
  }
  for (const auto& [one, other] : constraints.keep_together) {
    OMNIBAL_RETURN_IF_ERROR(check_layer(one, grid.num_layers, "keep_together"));
    OMNIBAL_RETURN_IF_ERROR(check_layer(other, grid.num_layers, "keep_together"));
    for (std::int32_t i = std::min(one, other).value() + 1; i <= std::max(one, other).value();
         ++i) {
      grid.allowed[at(i)] = false;
    }
  }
  return {};
}

Status restrict_to_megatron(const JointProblem& problem, CutGrid& grid) {
  const auto first =
      std::ranges::find(problem.layers, recompute::LayerClass::kLlm, &JointLayer::layer_class);
  if (first == problem.layers.end()) {
    return Error(ErrorCode::kInvalidArgument,
                 "megatron keeps everything before the first LLM block on stage 0; no layer is one")
        .at_key("restrict");
  }
  const auto first_llm = static_cast<std::int32_t>(first - problem.layers.begin());
  for (std::int32_t i = 1; i < first_llm; ++i) grid.allowed[at(i)] = false;
  return {};
}

Status restrict_to_uniform(CutGrid& grid) {
  OMNIBAL_ASSIGN(const partition::Cuts cuts,
                 partition::partition_even_layers(grid.num_layers, grid.num_stages));
  std::vector<bool> even(grid.allowed.size(), false);
  even.front() = even.back() = true;
  for (const LayerIndex cut : cuts) even[at(cut.value())] = grid.allowed[at(cut.value())];
  grid.allowed = even;
  return {};
}

Error too_few_places(const JointProblem& problem, std::int64_t num_allowed) {
  struct Flag {
    bool is_set = false;
    const char* key = nullptr;
    const char* flag = nullptr;
  };
  const Constraints& constraints = problem.constraints;
  std::string flags;
  const char* first_key = "pp";
  for (const Flag& flag :
       {Flag{constraints.restriction != Restriction::kNone, "restrict", "--restrict"},
        Flag{!constraints.forbidden_cuts.empty(), "forbid_cut", "--forbid-cut"},
        Flag{!constraints.keep_together.empty(), "keep_together", "--keep-together"}}) {
    if (!flag.is_set) continue;
    flags = flags.empty() ? flag.flag : fmt::format("{} or {}", flag.flag, flags);
    first_key = flag.key;
  }
  return Error(ErrorCode::kTooManyStages,
               fmt::format("the constraints leave {} to cut, {} need {}",
                           counted(num_allowed, "place"), counted(problem.num_stages, "stage"),
                           problem.num_stages - 1))
      .at_key(first_key)
      .with_value(num_allowed)
      .with_limit(std::int64_t{problem.num_stages} - 1)
      .with_hint(
          fmt::format("use at most {}, or relax {}", counted(num_allowed + 1, "stage"), flags));
}

void note_neighbours(CutGrid& grid) {
  grid.last_allowed.resize(grid.allowed.size());
  grid.first_allowed.resize(grid.allowed.size());
  std::int32_t last = 0;
  for (std::int32_t i = 0; i <= grid.num_layers; ++i) {
    if (grid.allowed[at(i)]) last = i;
    grid.last_allowed[at(i)] = last;
  }
  std::int32_t first = grid.num_layers;
  for (std::int32_t i = grid.num_layers; i >= 0; --i) {
    if (grid.allowed[at(i)]) first = i;
    grid.first_allowed[at(i)] = first;
  }
}

/// Every end that `stage` can have, given those of the stage before: a span that begins later
/// passes more easily, so for each end only the last begin before it counts. `from` records it.
std::vector<bool> reachable(const CutGrid& grid, std::int32_t stage,
                            const std::vector<bool>& begins, const StageTest& test,
                            std::vector<std::int32_t>& from) {
  std::vector<bool> ends(begins.size(), false);
  const bool last_stage = stage + 1 == grid.num_stages;
  std::int32_t begin = -1;
  for (std::int32_t end = 1; end <= grid.latest_end(stage); ++end) {
    if (begins[at(end - 1)]) begin = end - 1;
    if (begin < 0 || !grid.allowed[at(end)] || (last_stage && end < grid.num_layers)) continue;
    if (!test({stage, begin, end})) continue;
    ends[at(end)] = true;
    from[at(end)] = begin;
  }
  return ends;
}

std::optional<StageEnds> cuts_by_reach(const CutGrid& grid, const StageTest& test) {
  std::vector<bool> begins(grid.allowed.size(), false);
  begins[0] = true;
  std::vector<std::vector<std::int32_t>> from;
  for (std::int32_t s = 0; s < grid.num_stages; ++s) {
    begins = reachable(grid, s, begins, test, from.emplace_back(grid.allowed.size(), 0));
  }
  if (!begins[at(grid.num_layers)]) return std::nullopt;
  StageEnds ends(at(grid.num_stages));
  std::int32_t end = grid.num_layers;
  for (std::int32_t s = grid.num_stages - 1; s >= 0; --s) {
    ends[at(s)] = end;
    end = from[at(s)][at(end)];
  }
  return ends;
}

}  // namespace

Result<CutGrid> cut_grid(const JointProblem& problem) {
  CutGrid grid{static_cast<std::int32_t>(problem.layers.size()), problem.num_stages, {}, {}, {}};
  grid.allowed.assign(problem.layers.size() + 1, true);
  OMNIBAL_RETURN_IF_ERROR(forbid(problem.constraints, grid));
  const Restriction restriction = problem.constraints.restriction;
  if (restriction == Restriction::kMegatron) {
    OMNIBAL_RETURN_IF_ERROR(restrict_to_megatron(problem, grid));
  }
  if (restriction == Restriction::kUniform) OMNIBAL_RETURN_IF_ERROR(restrict_to_uniform(grid));
  const auto num_allowed = std::ranges::count(grid.allowed, true) - 2;
  if (num_allowed < problem.num_stages - 1) {
    return too_few_places(problem, num_allowed);
  }
  note_neighbours(grid);
  return grid;
}

std::vector<StageSpan> stage_spans(const StageEnds& ends) {
  std::vector<StageSpan> spans;
  std::int32_t begin = 0;
  for (const std::int32_t end : ends) {
    spans.push_back({static_cast<std::int32_t>(spans.size()), begin, end});
    begin = end;
  }
  return spans;
}

partition::Cuts to_cuts(const StageEnds& ends) {
  return partition::cuts_at(std::span(ends).first(ends.size() - 1));
}

StageEnds to_ends(const partition::Cuts& cuts, std::int32_t num_layers) {
  StageEnds ends = partition::first_layers(cuts);
  ends.push_back(num_layers);
  return ends;
}

bool is_on(const CutGrid& grid, const StageEnds& ends) {
  if (ends.size() != at(grid.num_stages) || ends.back() != grid.num_layers) return false;
  std::int32_t before = 0;
  for (const std::int32_t end : ends) {
    if (end <= before || end > grid.num_layers || !grid.allowed[at(end)]) return false;
    before = end;
  }
  return true;
}

std::int32_t latest_passing_end(const StageSpan& from, std::int32_t most, const StageTest& test) {
  std::int32_t passing = from.begin;
  std::int32_t failing = most + 1;
  while (failing - passing > 1) {
    const std::int32_t middle = passing + (failing - passing) / 2;
    (test({from.stage, from.begin, middle}) ? passing : failing) = middle;
  }
  return passing;
}

std::int32_t earliest_passing_begin(const StageSpan& to, std::int32_t least,
                                    const StageTest& test) {
  std::int32_t passing = to.end;
  std::int32_t failing = least - 1;
  while (passing - failing > 1) {
    const std::int32_t middle = failing + (passing - failing) / 2;
    (test({to.stage, middle, to.end}) ? passing : failing) = middle;
  }
  return passing;
}

CutSearch cuts_passing(const CutGrid& grid, const StageTest& test) {
  CutSearch search;
  StageEnds ends;
  bool each_has_a_layer = true;
  std::int32_t begin = 0;
  for (std::int32_t s = 0; s < grid.num_stages; ++s) {
    // No choice of earlier ends gets farther than `end`, whether or not this one is possible.
    const std::int32_t most = grid.latest_end(s);
    const std::int32_t end =
        grid.last_allowed[at(latest_passing_end({s, begin, begin}, most, test))];
    if (end < most && grid.first_allowed[at(end + 1)] <= most) {
      search.blocking.push_back({s, begin, grid.first_allowed[at(end + 1)]});
    }
    each_has_a_layer = each_has_a_layer && end > begin;
    ends.push_back(end);
    begin = end;
  }
  if (begin < grid.num_layers) return search;
  search.blocking.clear();
  search.ends = each_has_a_layer ? std::move(ends) : cuts_by_reach(grid, test);
  return search;
}

std::optional<std::vector<StageEnds>> all_cuts(const CutGrid& grid) {
  std::vector<StageEnds> all{{}};
  for (std::int32_t stage = 0; stage < grid.num_stages; ++stage) {
    std::vector<StageEnds> longer;
    for (const StageEnds& ends : all) {
      const std::int32_t begin = ends.empty() ? 0 : ends.back();
      const bool is_last = stage + 1 == grid.num_stages;
      for (std::int32_t end = is_last ? grid.num_layers : begin + 1; end <= grid.latest_end(stage);
           ++end) {
        if (!grid.allowed[static_cast<std::size_t>(end)]) continue;
        longer.push_back(ends);
        longer.back().push_back(end);
      }
      if (static_cast<std::int64_t>(longer.size()) > kMostCutsToTry) return std::nullopt;
    }
    all = std::move(longer);
  }
  return all;
}

}  // namespace omnibal::joint
