// SPDX-License-Identifier: Apache-2.0
#include "joint/rank_caps.h"

#include <algorithm>

namespace omnibal::joint {
namespace {

using schedule::FullMoment;
using schedule::kNothingRuns;

std::int64_t held_with(const FullMoment& moment, std::int64_t bytes,
                       const std::vector<std::int64_t>& savings,
                       const std::vector<std::int64_t>& transients) {
  for (std::size_t s = 0; s < savings.size(); ++s) {
    bytes -= moment.held[s].for_backward * savings[s];
  }
  if (moment.running != kNothingRuns) bytes += transients[static_cast<std::size_t>(moment.running)];
  return bytes;
}

/// What all layers of the stage together save within a cap, at every cap that matters.
std::vector<SavingStep> steps_of(const RankKinds& kinds, const StageSpan& span) {
  std::vector<SavingStep> steps;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const std::int32_t layers = kinds.count(k, span);
    if (layers == 0) continue;
    for (const SavingStep& step : kinds[k].steps) {
      steps.push_back({step.transient, layers * step.saving});
    }
  }
  std::ranges::sort(steps, {}, &SavingStep::transient);
  return steps;
}

}  // namespace

std::int64_t peak_with(const RankBytes& bytes, const std::vector<std::int64_t>& savings,
                       const std::vector<std::int64_t>& transients) {
  std::int64_t most = 0;
  for (std::size_t q = 0; q < bytes.at_moments.size(); ++q) {
    most =
        std::max(most, held_with(bytes.rank.moments[q], bytes.at_moments[q], savings, transients));
  }
  return most;
}

RankCaps largest_caps(const RankBytes& bytes, const RankKinds& kinds, const RankSpans& spans,
                      std::int64_t limit) {
  std::vector<std::vector<SavingStep>> steps;  // by stage, those within the cap
  std::vector<std::int64_t> savings, caps;
  for (const StageSpan& span : spans) {
    const std::vector<SavingStep>& all = steps.emplace_back(steps_of(kinds, span));
    std::int64_t saving = 0;
    for (const SavingStep& step : all) saving += step.saving;
    savings.push_back(saving);
    caps.push_back(all.empty() ? 0 : all.back().transient);
  }
  RankCaps least{caps, peak_with(bytes, savings, caps)};
  while (least.peak > limit) {
    std::int64_t most = -1;
    std::int32_t running = kNothingRuns;
    for (std::size_t q = 0; q < bytes.at_moments.size(); ++q) {
      const FullMoment& moment = bytes.rank.moments[q];
      const std::int64_t held = held_with(moment, bytes.at_moments[q], savings, caps);
      if (held <= most) continue;
      most = held;
      running = moment.running;
    }
    if (most < least.peak) least = {caps, most};
    if (least.peak <= limit || running == kNothingRuns) break;
    const auto s = static_cast<std::size_t>(running);
    if (caps[s] == 0) break;
    while (!steps[s].empty() && steps[s].back().transient == caps[s]) {
      savings[s] -= steps[s].back().saving;
      steps[s].pop_back();
    }
    caps[s] = steps[s].empty() ? 0 : steps[s].back().transient;
  }
  return least;
}

}  // namespace omnibal::joint
