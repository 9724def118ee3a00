// SPDX-License-Identifier: Apache-2.0
#include "omnibal/simulate/pipeline.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "omnibal/simulate/chrome_trace.h"
#include "partition/workload_w.h"
#include "schedule/written.h"
#include "simulate/uniform_times.h"

namespace omnibal::simulate {
namespace {

using schedule::make_schedule;
using schedule::Schedule;
using schedule::ScheduleKind;

TEST(Makespan, OfEqualStagesIsTheClosedForm) {
  for (const ScheduleKind kind : {ScheduleKind::kOneFOneB, ScheduleKind::kGPipe}) {
    for (const std::int32_t p : {1, 2, 4, 8}) {
      for (const std::int32_t m : {1, 3, 8, 32}) {
        const Schedule s = *make_schedule(kind, p, m);
        const PipelineTimes times =
            uniform_times(std::vector<double>(static_cast<std::size_t>(p), 1.25), m);
        EXPECT_DOUBLE_EQ(makespan(*compile(s), times), (m + p - 1) * (1.25 + 2.5));
      }
    }
  }
}

struct WRow {
  std::int32_t num_stages;
  double two_p;
  double four_p;
};

void expect_makespans_ms(const partition::Cuts& cuts, const WRow& row) {
  const std::vector<double> stages = partition::stage_sums(partition::workload_w_ms(), cuts);
  for (const auto& [factor, expected] : {std::pair{2, row.two_p}, {4, row.four_p}}) {
    const std::int32_t m = factor * row.num_stages;
    const Schedule s = *make_schedule(ScheduleKind::kOneFOneB, row.num_stages, m);
    EXPECT_NEAR(makespan(*compile(s), uniform_times(stages, m)), expected, 0.05);
  }
}

TEST(Makespan, OfWorkloadWWithEvenLayers) {
  for (const WRow& row : {WRow{4, 3786.9, 6782.1}, {8, 3974.1, 6969.3}, {16, 4067.7, 7062.9}}) {
    expect_makespans_ms(*partition::partition_even_layers(96, row.num_stages), row);
  }
}

TEST(Makespan, OfWorkloadWWithVisionFirst) {
  for (const WRow& row : {WRow{4, 4864.8, 9729.6}, {8, 8232.0, 16464.0}, {16, 14966.4, 29932.8}}) {
    expect_makespans_ms(
        *partition::partition_vision_first(partition::workload_w_kinds(), row.num_stages), row);
  }
}

TEST(Makespan, LinksDelayTheReceiver) {
  // One micro-batch: every stage forward and back, every link there and back.
  PipelineTimes times = uniform_times({1, 1, 1}, 1);
  times.activation_s = {0.5, 0.25, 0};
  times.gradient_s = {0.125, 2, 0};
  const Schedule s = *make_schedule(ScheduleKind::kOneFOneB, 3, 1);
  EXPECT_DOUBLE_EQ(makespan(*compile(s), times), 9 + 0.75 + 2.125);
  EXPECT_EQ(makespan(*compile(lower(s)), times), makespan(*compile(s), times));
}

TEST(Simulate, GivesTheGoldenTimeline) {
  // Stage 0 takes 1 + 2, stage 1 takes 2 + 4; recomputation of 1 on stage 0; 0.5 s a transfer.
  PipelineTimes times = uniform_times({1, 2}, 2);
  times.activation_s = times.gradient_s = {0.5, 0, 0.5, 0};
  times.recompute_s = {1, 0, 1, 0};
  const Timeline timeline =
      simulate(*compile(*make_schedule(ScheduleKind::kOneFOneB, 2, 2)), times);
  const auto row = [&](std::size_t rank) {
    std::string text;
    for (const Interval& i : timeline.ranks[rank]) {
      text += to_text(i.action) + "@" + std::to_string(static_cast<int>(2 * i.start_s)) + "-" +
              std::to_string(static_cast<int>(2 * i.end_s)) + " ";
    }
    return text;
  };
  // In half seconds.
  EXPECT_EQ(row(0), "0F0@0-2 0F1@2-4 0B0@16-22 0B1@28-34 ");
  EXPECT_EQ(row(1), "1F0@3-7 1B0@7-15 1F1@15-19 1B1@19-27 ");
  EXPECT_EQ(timeline.makespan_s, 17);
  EXPECT_EQ(timeline.ranks[0][2].recompute_s, 1);
}

TEST(Compile, RefusesWhatCannotBeSimulated) {
  Schedule s = *make_schedule(ScheduleKind::kOneFOneB, 2, 2);
  s.ranks[0].pop_back();
  EXPECT_EQ(compile(s).error().code, ErrorCode::kInternal);
}

TEST(ChromeTrace, IsJsonWithASliceForEveryInterval) {
  PipelineTimes times = uniform_times({0.001, 0.002}, 2);
  times.recompute_s = {0.0005, 0, 0.0005, 0};
  const Timeline timeline =
      simulate(*compile(*make_schedule(ScheduleKind::kOneFOneB, 2, 2)), times);
  const std::vector<Timeline> timelines{timeline, timeline};
  const auto trace = nlohmann::json::parse(chrome_trace(timelines));
  int slices = 0;
  int names = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "M") ++names;
    if (event["ph"] == "X") ++slices;
  }
  EXPECT_EQ(names, 2 * (1 + 2));
  EXPECT_EQ(slices, 2 * (8 + 2));
  // The second micro-batch's forward on rank 0 of the second process, in microseconds.
  const auto wanted = nlohmann::json::parse(
      R"({"ph":"X","cat":"forward","name":"F1","pid":1,"tid":0,"ts":1000.0,"dur":1000.0,
          "args":{"stage":0,"micro_batch":1}})");
  EXPECT_THAT(trace["traceEvents"], testing::Contains(wanted));
}

TEST(ChromeTrace, ShowsWeightGradientsMemoryAndTheEndOfTheStep) {
  const Schedule s = *make_schedule(ScheduleKind::kZbH1, 2, 2);
  const std::vector<Timeline> timelines{simulate(*compile(s), uniform_times({0.001, 0.001}, 2))};
  const std::vector<std::vector<std::vector<ActionMemory>>> memory{
      std::vector(2, std::vector<ActionMemory>(6, {7, 5}))};
  const std::vector<StepEndSpan> end{{StepEndSpan::Kind::kReduce, 1, 1, 0.008, 0.009}};
  const auto trace = nlohmann::json::parse(chrome_trace(timelines, {memory, end}));
  std::map<std::string, int> kinds;
  for (const auto& event : trace["traceEvents"]) {
    ++kinds[event.value("cat", event["ph"].get<std::string>())];
  }
  EXPECT_EQ(kinds["weight gradient"], 4);
  EXPECT_EQ(kinds["backward"], 4);
  EXPECT_EQ(kinds["C"], 2 * 12);
  EXPECT_EQ(kinds["M"], 1 + 2 + 2);
  EXPECT_THAT(trace["traceEvents"], testing::Contains(nlohmann::json::parse(
                                        R"({"ph":"X","cat":"step end","name":"reduce gradients",
          "pid":0,"tid":3,"ts":8000.0,"dur":1000.0,"args":{"stage":1}})")));
}

}  // namespace
}  // namespace omnibal::simulate
