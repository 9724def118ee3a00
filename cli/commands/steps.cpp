// SPDX-License-Identifier: Apache-2.0
//
// omnibal steps: what each rank runs next, from any place of a plan.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "cli/command.h"
#include "cli/text_table.h"
#include "omnibal/plan/cursor.h"

namespace omnibal::cli {
namespace {

using codec::Json;

struct StepsFlags {
  std::string directory;
  std::string cursor;
  std::optional<std::int64_t> epoch, step, dp, micro_batches;
  std::int64_t count = 1;
  std::string out_cursor;
};

Status check_flags(const StepsFlags& flags) {
  if (!flags.cursor.empty() && (flags.epoch || flags.step)) {
    return Error(ErrorCode::kInvalidArgument, "a cursor says epoch and step already")
        .at_key("--cursor")
        .with_hint("leave --epoch and --step away, or --cursor");
  }
  return {};
}

/// Where to begin: as the cursor says, or at the given step of the plan's own sizes.
Result<plan::PlanCursor> begin_at(const StepsFlags& flags, const plan::PlanIdentity& identity,
                                  const steps::StepSource& source) {
  if (flags.cursor.empty()) {
    plan::PlanCursor cursor{.plan = identity, .at = steps::first_step(source)};
    cursor.at.at = {flags.epoch.value_or(0), flags.step.value_or(0)};
    return cursor;
  }
  OMNIBAL_ASSIGN(plan::PlanCursor cursor, plan::read_cursor(flags.cursor));
  OMNIBAL_RETURN_IF_ERROR(plan::check_is_of(cursor, identity, flags.cursor));
  return cursor;
}

/// As many micro-batches as keep the packs of a step, where only --dp is given and divides.
steps::RankSizes asked_sizes(const StepsFlags& flags, const steps::StepCursor& now) {
  const std::int64_t dp = flags.dp.value_or(now.ranks.dp);
  const std::int64_t packs = now.ranks.dp * now.ranks.micro_batches;
  const std::int64_t same_step = packs % dp == 0 ? packs / dp : now.ranks.micro_batches;
  return {dp, flags.micro_batches.value_or(same_step)};
}

Result<steps::StepReader> open_reader(const StepsFlags& flags, const steps::StepSource& source,
                                      const steps::StepCursor& cursor) {
  Result<steps::StepReader> reader = steps::StepReader::open(source, cursor);
  if (!reader && !flags.cursor.empty()) return std::move(reader).error().in_file(flags.cursor);
  if (!reader || (!flags.dp && !flags.micro_batches)) return reader;
  const steps::RankSizes sizes = asked_sizes(flags, reader->cursor());
  return sizes == reader->cursor().ranks ? std::move(reader) : reader->on_ranks(sizes);
}

std::int64_t samples_in(const plan::PlanReader& plan, std::span<const std::int64_t> packs) {
  std::int64_t samples = 0;
  for (const std::int64_t pack : packs) {
    if (pack == steps::kZeroWeightPack) continue;
    const auto p = static_cast<std::size_t>(pack);
    samples += plan.pack_offsets()[p + 1] - plan.pack_offsets()[p];
  }
  return samples;
}

Json step_json(const plan::PlanReader& plan, const steps::StepReader& reader) {
  const std::vector<std::int64_t> packs = reader.packs();
  const auto dp = static_cast<std::size_t>(reader.cursor().ranks.dp);
  Json micro_batches = Json::array();
  for (std::size_t row = 0; row < packs.size(); row += dp) {
    micro_batches.push_back(
        std::vector<std::int64_t>(packs.begin() + static_cast<std::ptrdiff_t>(row),
                                  packs.begin() + static_cast<std::ptrdiff_t>(row + dp)));
  }
  return {{"epoch", reader.cursor().at.epoch},
          {"step", reader.cursor().at.step},
          {"micro_batches", std::move(micro_batches)},
          {"samples", samples_in(plan, packs)}};
}

std::string to_text(const Json& steps, const steps::StepReader& next) {
  std::vector<std::vector<std::string>> rows = {
      {"epoch", "step", "micro-batch", "samples", "packs of the ranks"}};
  for (const Json& step : steps) {
    for (std::size_t m = 0; m < step["micro_batches"].size(); ++m) {
      const auto packs = step["micro_batches"][m].get<std::vector<std::int64_t>>();
      rows.push_back({fmt::format("{}", step["epoch"].get<std::int64_t>()),
                      fmt::format("{}", step["step"].get<std::int64_t>()), fmt::format("{}", m),
                      m == 0 ? fmt::format("{}", step["samples"].get<std::int64_t>()) : "",
                      fmt::format("{}", fmt::join(packs, " "))});
    }
  }
  const steps::StepPosition& at = next.cursor().at;
  return text_table(rows) +
         fmt::format("next: epoch {}, step {} of {}\n", at.epoch, at.step, next.steps_in_epoch());
}

Result<Output> run_steps(const StepsFlags& flags) {
  OMNIBAL_RETURN_IF_ERROR(check_flags(flags));
  OMNIBAL_ASSIGN(const plan::PlanReader plan, plan::PlanReader::open(flags.directory));
  OMNIBAL_ASSIGN(const plan::PlanIdentity identity, plan::identify(plan, flags.directory));
  OMNIBAL_ASSIGN(const steps::StepSource source, plan::step_source(plan));
  OMNIBAL_ASSIGN(plan::PlanCursor cursor, begin_at(flags, identity, source));
  OMNIBAL_ASSIGN(steps::StepReader reader, open_reader(flags, source, cursor.at));
  cursor.at = reader.cursor();
  Output output;
  output.json["cursor"] = plan::to_json(cursor);
  Json steps = Json::array();
  for (std::int64_t i = 0; i < flags.count; ++i, reader.advance()) {
    steps.push_back(step_json(plan, reader));
  }
  cursor.at = reader.cursor();
  if (!flags.out_cursor.empty()) {
    OMNIBAL_RETURN_IF_ERROR(plan::write_cursor(cursor, flags.out_cursor));
  }
  output.json["next"] = plan::to_json(cursor);
  output.json["steps_in_epoch"] = reader.steps_in_epoch();
  output.text = to_text(steps, reader);
  output.json["steps"] = std::move(steps);
  return output;
}

std::vector<Flag> place_flags(StepsFlags& flags) {
  return {{.name = "PLAN",
           .target = &flags.directory,
           .help = "A plan directory with steps",
           .required = true},
          {.name = "--cursor",
           .target = &flags.cursor,
           .help = "Begin where this cursor file says",
           .value_name = "FILE"},
          {.name = "--epoch",
           .target = &flags.epoch,
           .help = "Begin in this epoch, from 0 [default: 0]",
           .value_name = "N",
           .min = 0},
          {.name = "--step",
           .target = &flags.step,
           .help = "Begin at this step of the epoch, from 0 [default: 0]",
           .value_name = "N",
           .min = 0}};
}

std::vector<Flag> step_reader_flags(StepsFlags& flags) {
  return joined(
      {place_flags(flags),
       {{.name = "--dp",
         .target = &flags.dp,
         .help = "Data-parallel ranks from here on: a divisor of the plan's splits its groups, any "
                 "other forms what has not run anew [default: as before]",
         .value_name = "N",
         .min = 1,
         .max = steps::kLargestStep},
        {.name = "--micro-batches",
         .target = &flags.micro_batches,
         .help = "Micro-batches of a step from here on [default: those that keep the packs of a "
                 "step, where --dp divides them, otherwise as before]",
         .value_name = "N",
         .min = 1,
         .max = steps::kLargestStep},
        {.name = "--count",
         .target = &flags.count,
         .help = "Steps to print; 0 only checks the place",
         .value_name = "N",
         .min = 0,
         .max = 1 << 20},
        {.name = "--out-cursor",
         .target = &flags.out_cursor,
         .help = "Write the cursor behind the printed steps",
         .value_name = "FILE"}}});
}

}  // namespace

Command make_steps_command() {
  auto flags = std::make_shared<StepsFlags>();
  return {.name = "steps",
          .summary = "Show which packs the ranks run, from any step of any epoch",
          .description =
              "Reads the steps of a plan from a cursor, or from any step of any epoch, and prints "
              "the packs that each rank runs. Every epoch has an order of its own. The cursor "
              "behind the printed steps goes on exactly there, also on other ranks.",
          .example =
              "omnibal steps plan/ --count 2\n"
              "omnibal steps plan/ --epoch 1 --step 300 --out-cursor cursor.json\n"
              "omnibal steps plan/ --cursor cursor.json --dp 4 --count 100 --json",
          .flags = step_reader_flags(*flags),
          .run = [flags](const Context&) { return run_steps(*flags); }};
}

}  // namespace omnibal::cli
