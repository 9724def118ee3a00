// SPDX-License-Identifier: Apache-2.0
#include "cli/step_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/text_table.h"
#include "omnibal/base/quantity.h"

namespace omnibal::cli {
namespace {

struct Part {
  std::string name;
  double seconds = 0;
};

std::vector<Part> parts_of(const simulate::Breakdown& breakdown) {
  return {{"useful_s", breakdown.useful_s},
          {"recompute_s", breakdown.recompute_s},
          {"stage_imbalance_s", breakdown.stage_imbalance_s},
          {"rank_imbalance_s", breakdown.rank_imbalance_s},
          {"bubble_s", breakdown.bubble_s},
          {"communication_s", breakdown.communication_s}};
}

/// The stages of every pipeline rank, ascending.
std::vector<std::vector<std::int32_t>> stages_of_ranks(const schedule::Schedule& schedule) {
  std::vector<std::vector<std::int32_t>> stages(schedule.ranks.size());
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
    for (const RankIndex rank : ranks_of(schedule, StageIndex{stage})) {
      stages[static_cast<std::size_t>(rank.value())].push_back(stage);
    }
  }
  return stages;
}

std::string words_of(std::string_view key) {
  std::string words(key.substr(0, key.size() - 2));
  std::ranges::replace(words, '_', ' ');
  return words;
}

std::string time_table(const simulate::StepSimulation& step) {
  const double device_seconds = step.makespan_s * static_cast<double>(step.ranks.size());
  std::vector<std::vector<std::string>> rows{{"where time goes", "device-seconds", "share"}};
  const auto add = [&](std::string words, double seconds) {
    rows.push_back(
        {std::move(words), fmt::format("{:.3f}", seconds),
         fmt::format("{:.1f} %", device_seconds > 0 ? 100 * seconds / device_seconds : 0.0)});
  };
  const bool updates = !step.end.spans.empty();
  for (const Part& part : parts_of(step.breakdown)) {
    add(words_of(part.name), part.seconds);
    if (updates && part.name == "useful_s") add("  of it optimizer", step.optimizer_s);
    if (updates && part.name == "communication_s") add("  of it reduction", step.reduction_s);
  }
  return text_table(rows);
}

}  // namespace

codec::Json to_json(const simulate::StepReport& report, const schedule::Schedule& schedule) {
  const simulate::StepSimulation& step = report.step;
  const std::vector<std::vector<std::int32_t>> stages = stages_of_ranks(schedule);
  codec::Json json = {
      {"schedule", {{"kind", to_string(schedule.kind)}, {"chunks", num_chunks(schedule)}}},
      {"makespan_s", step.makespan_s},
      {"bubble_fraction", step.bubble_fraction},
      {"breakdown", codec::Json::object()},
      {"optimizer_s", step.optimizer_s},
      {"reduction_s", step.reduction_s},
      {"ranks", codec::Json::array()}};
  for (const Part& part : parts_of(step.breakdown)) json["breakdown"][part.name] = part.seconds;
  for (std::size_t i = 0; i < step.ranks.size(); ++i) {
    const std::size_t rank = i % stages.size();
    json["ranks"].push_back({{"dp_rank", i / stages.size()},
                             {"stage", stages[rank].front()},
                             {"stages", stages[rank]},
                             {"busy_s", step.ranks[i].busy_s},
                             {"idle_s", step.ranks[i].idle_s},
                             {"peak_bytes", report.peak_bytes[i]}});
  }
  return json;
}

std::string to_text(const simulate::StepReport& report, const schedule::Schedule& schedule) {
  const simulate::StepSimulation& step = report.step;
  const std::vector<std::vector<std::int32_t>> stages = stages_of_ranks(schedule);
  std::vector<std::vector<std::string>> ranks{{"dp rank, stages", "busy s", "idle s", "peak"}};
  for (std::size_t i = 0; i < step.ranks.size(); ++i) {
    ranks.push_back(
        {fmt::format("{}, {}", i / stages.size(), fmt::join(stages[i % stages.size()], " ")),
         fmt::format("{:.3f}", step.ranks[i].busy_s), fmt::format("{:.3f}", step.ranks[i].idle_s),
         format_bytes(report.peak_bytes[i])});
  }
  return fmt::format("step {}, idle {:.1f} % of all device time\n\n{}\n{}",
                     format_seconds(step.makespan_s), 100 * step.bubble_fraction, time_table(step),
                     text_table(ranks));
}

}  // namespace omnibal::cli
