// SPDX-License-Identifier: Apache-2.0
#include "cli/layout_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/plan_text.h"
#include "cli/text_table.h"
#include "omnibal/base/quantity.h"

namespace omnibal::cli {
namespace {

std::string tower_text(const plan::LayoutPrediction& layout) {
  if (!layout.tower) return "in the pipeline";
  const plan::SpreadTower& tower = *layout.tower;
  const std::string where = tower.place == schedule::VisionPlace::kApart
                                ? fmt::format("on {} of its own", counted(tower.ranks, "rank"))
                                : std::string(schedule::to_string(tower.place));
  return fmt::format("{}, tp {}", where, tower.tp);
}

std::vector<std::string> row_of(const plan::LayoutPrediction& layout, double best_s) {
  return {std::string(to_string(layout.layout)),
          tower_text(layout),
          to_text(layout.schedule),
          fmt::format("{}", std::ranges::count(layout.recompute, true)),
          format_bytes(layout.peak_bytes),
          fmt::format("{:.2f} s", layout.step_s),
          days(layout.gpu_days),
          days(layout.bound_gpu_days),
          fmt::format("{:.2f} %{}", 100 * layout.certificate.gap,
                      layout.certificate.proven ? " proven" : ""),
          fmt::format("{:+.1f} %", 100 * (layout.step_s / best_s - 1))};
}

}  // namespace

std::string to_text(const plan::LayoutComparison& layouts) {
  std::vector<std::vector<std::string>> rows = {{"layout", "vision tower", "schedule", "recomputed",
                                                 "fullest rank", "step", "GPU days", "bound",
                                                 "cuts", ""}};
  std::vector<std::string> reasons;
  const double best_s = layouts.ranked.front().step_s;
  for (const plan::LayoutPrediction& layout : layouts.ranked) {
    rows.push_back(row_of(layout, best_s));
    reasons.push_back(layout.reason);
  }
  std::string text = text_table(rows, reasons);
  for (const plan::RefusedLayout& refused : layouts.refused) {
    text += fmt::format("{}: {}\n", to_string(refused.layout), refused.reason);
  }
  return text;
}

}  // namespace omnibal::cli
