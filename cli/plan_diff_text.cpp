// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_diff_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "cli/text_table.h"
#include "omnibal/plan/plan_diff.h"
#include "omnibal/plan/plan_directory.h"

namespace omnibal::cli {
namespace {

constexpr std::size_t kMostWidth = 40;

std::string value_text(const codec::Json& value) {
  if (value.is_null()) return "-";
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (text.size() <= kMostWidth) return text;
  return fmt::format("{} of them", value.size());
}

/// Nothing where a percentage says nothing: between nearly no gap and a small one.
std::string change_text(const plan::PlanChange& change) {
  if (!change.ratio || *change.ratio < 0.01 || *change.ratio > 100) return "";
  return fmt::format("{:+.1f} %", 100 * (*change.ratio - 1));
}

constexpr std::array<std::string_view, 3> kGain = {"prediction.gpu_days", "prediction.step_s",
                                                   "prediction.peak_bytes"};

/// First what is gained, then what is otherwise. What explains the caps is left to --json.
std::vector<plan::PlanChange> in_order(const std::vector<plan::PlanChange>& changes) {
  std::vector<plan::PlanChange> shown;
  const auto is_gain = [](const plan::PlanChange& change) {
    return std::ranges::find(kGain, change.key) != kGain.end();
  };
  for (const std::string_view key : kGain) {
    const auto found = std::ranges::find(changes, key, &plan::PlanChange::key);
    if (found != changes.end()) shown.push_back(*found);
  }
  std::ranges::copy_if(changes, std::back_inserter(shown), [&](const plan::PlanChange& change) {
    return !is_gain(change) && !change.key.starts_with("limits.explanation");
  });
  return shown;
}

std::string changes_table(const std::vector<plan::PlanChange>& changes) {
  std::vector<std::vector<std::string>> rows = {{"", "there", "here", ""}};
  for (const plan::PlanChange& change : in_order(changes)) {
    rows.push_back(
        {change.key, value_text(change.other), value_text(change.now), change_text(change)});
  }
  return text_table(rows);
}

}  // namespace

Flag diff_flag(std::string* directory) {
  return {.name = "--diff",
          .target = directory,
          .help = "Another plan: say what this one does otherwise, and what it gains",
          .value_name = "DIR"};
}

Result<std::optional<codec::Json>> read_other(const std::string& directory) {
  if (directory.empty()) return std::optional<codec::Json>();
  OMNIBAL_ASSIGN(const plan::PlanReader other, plan::PlanReader::open(directory));
  return std::optional(other.document());
}

void add_diff(const std::string& directory, const codec::Json& other, Output& output) {
  const std::vector<plan::PlanChange> changes = plan::plan_changes(other, output.json);
  output.json["diff"] = {{"other", directory}, {"changes", plan::to_json(changes)}};
  output.text += changes.empty() ? fmt::format("\nthe plan in {} does the same\n", directory)
                                 : fmt::format("\nagainst the plan in {}:\n{}", directory,
                                               changes_table(changes));
}

}  // namespace omnibal::cli
