// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "joint/plan_pool.h"

namespace omnibal::joint {
namespace {

bool are_alike(const JointLayer& a, const JointLayer& b) {
  return a.activation_bytes == b.activation_bytes &&
         std::ranges::equal(
             a.choices, b.choices, [](const RecomputeChoice& x, const RecomputeChoice& y) {
               return x.kept_bytes == y.kept_bytes && x.recompute_s == y.recompute_s &&
                      x.transient_bytes == y.transient_bytes;
             });
}

/// One layer of each kind among those of the span that `takes` accepts.
template <class Takes>
std::vector<std::size_t> kinds_in(std::span<const JointLayer> layers, const StageSpan& span,
                                  const Takes& takes) {
  std::vector<std::size_t> kinds;
  for (auto i = static_cast<std::size_t>(span.begin); i < static_cast<std::size_t>(span.end); ++i) {
    const auto is_alike = [&](std::size_t k) { return are_alike(layers[k], layers[i]); };
    if (takes(i) && std::ranges::none_of(kinds, is_alike)) kinds.push_back(i);
  }
  return kinds;
}

/// Layers like `kind` take `choice`, one after the other, until the span fits. False: it never
/// does.
bool fit_with(const SearchSetting& setting, const StageTables& tables, const StageSpan& span,
              std::size_t kind, std::int32_t choice, LayerChoices& choices) {
  const std::span<const JointLayer> layers = setting.problem.layers;
  for (auto i = static_cast<std::size_t>(span.begin); i < static_cast<std::size_t>(span.end); ++i) {
    if (choices[i] != 0 || !are_alike(layers[i], layers[kind])) continue;
    choices[i] = choice;
    if (peak_bytes(tables, layers, span, choices) <= tables.limit_bytes()) return true;
  }
  return false;
}

/// All ways to keep a layer that recomputes and recompute layers of another kind instead.
std::vector<LayerChoices> swaps(const SearchSetting& setting, const StageTables& tables,
                                const StageSpan& span, const LayerChoices& choices) {
  const std::span<const JointLayer> layers = setting.problem.layers;
  std::vector<LayerChoices> all;
  for (const std::size_t keep : kinds_in(layers, span, [&](auto i) { return choices[i] != 0; })) {
    const auto can = [&](std::size_t i) {
      return choices[i] == 0 && !layers[i].choices.empty() && !are_alike(layers[i], layers[keep]);
    };
    for (const std::size_t kind : kinds_in(layers, span, can)) {
      const auto num_choices = static_cast<std::int32_t>(layers[kind].choices.size());
      for (std::int32_t choice = 1; choice <= num_choices; ++choice) {
        LayerChoices swapped = choices;
        swapped[keep] = 0;
        if (fit_with(setting, tables, span, kind, choice, swapped)) {
          all.push_back(std::move(swapped));
        }
      }
    }
  }
  return all;
}

}  // namespace

void swap_choices(PlanPool& pool, const SearchSetting& setting, const StageTables& tables,
                  JudgedPlan plan) {
  for (const StageSpan& span : stage_spans(plan.ends)) {
    bool improved = true;
    while (improved) {
      improved = false;
      for (LayerChoices& choices : swaps(setting, tables, span, plan.choices)) {
        if (!pool.improve(plan, std::move(choices))) continue;
        improved = true;
        break;
      }
    }
  }
}

}  // namespace omnibal::joint
