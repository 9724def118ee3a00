// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/mix.h"

#include <algorithm>

namespace omnibal::plan {
namespace {

using codec::Json;

double ratio(std::int64_t part, std::int64_t all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
}

metrics::SourceTotals sum_of(const std::vector<metrics::SourceTotals>& totals) {
  metrics::SourceTotals sum;
  for (const metrics::SourceTotals& of_source : totals) {
    sum.samples += of_source.samples;
    sum.vision_units += of_source.vision_units;
    sum.tokens += of_source.tokens;
  }
  return sum;
}

std::vector<std::uint32_t> samples_of(std::span<const pack::Rejection> rejected) {
  std::vector<std::uint32_t> samples;
  for (const pack::Rejection& rejection : rejected) samples.push_back(rejection.sample);
  return samples;
}

std::vector<metrics::SourceTotals> without(std::vector<metrics::SourceTotals> totals,
                                           const std::vector<metrics::SourceTotals>& less) {
  for (std::size_t s = 0; s < totals.size(); ++s) {
    totals[s].samples -= less[s].samples;
    totals[s].vision_units -= less[s].vision_units;
    totals[s].tokens -= less[s].tokens;
  }
  return totals;
}

Json totals_json(const metrics::SourceTotals& totals, const metrics::SourceTotals& all) {
  return {{"samples", totals.samples},
          {"vision_units", totals.vision_units},
          {"tokens", totals.tokens},
          {"share",
           {{"samples", ratio(totals.samples, all.samples)},
            {"vision_units", ratio(totals.vision_units, all.vision_units)},
            {"tokens", ratio(totals.tokens, all.tokens)}}}};
}

Json spread_json(const metrics::ShareSpread& spread) {
  return {{"share", spread.share},           {"mean", spread.mean}, {"std", spread.std},
          {"random_std", spread.random_std}, {"min", spread.min},   {"max", spread.max}};
}

Json spread_json(const metrics::MixSpread& spread, const std::vector<corpus::Source>& sources) {
  const auto deviating = static_cast<std::size_t>(spread.deviating_source);
  return {{"against_random", spread.against_random},
          {"largest_deviation", spread.largest_deviation},
          {"deviating_source", sources[deviating].name}};
}

Json level_json(const metrics::MixLevel& level, const std::vector<corpus::Source>& sources) {
  return {{"count", level.count},
          {"samples", spread_json(level.samples, sources)},
          {"vision_units", spread_json(level.vision_units, sources)},
          {"tokens", spread_json(level.tokens, sources)}};
}

Json shares_json(const metrics::MixLevel& level, std::size_t source) {
  return {{"samples", spread_json(level.samples.sources[source])},
          {"vision_units", spread_json(level.vision_units.sources[source])},
          {"tokens", spread_json(level.tokens.sources[source])}};
}

}  // namespace

Json mix_json(const std::vector<corpus::Source>& sources, const metrics::SourcedSamples& samples,
              std::span<const pack::Rejection> rejected) {
  const std::vector<metrics::SourceTotals> of_all = metrics::source_totals(samples);
  const std::vector<metrics::SourceTotals> of_placed =
      without(of_all, metrics::source_totals(samples, samples_of(rejected)));
  const metrics::SourceTotals all = sum_of(of_all);
  const metrics::SourceTotals all_placed = sum_of(of_placed);
  Json rows = Json::array();
  for (std::size_t s = 0; s < sources.size(); ++s) {
    Json row = {{"name", sources[s].name},
                {"weight", sources[s].weight},
                {"given", sources[s].given()},
                {"left_out", sources[s].left_out},
                {"repeat", ratio(of_all[s].samples, sources[s].given())}};
    row.update(totals_json(of_all[s], all));
    row["placed"] = totals_json(of_placed[s], all_placed);
    rows.push_back(std::move(row));
  }
  return {{"sources", std::move(rows)}};
}

metrics::StepEntries mix_entries(const steps::StepTable& table, std::int64_t window) {
  const std::int64_t rest = window % table.micro_batches > 0 ? 1 : 0;
  const std::int64_t spanned = window / table.micro_batches + rest;
  return {.pack_ids = table.pack_ids,
          .num_steps = table.num_steps,
          .steps_per_window = window == 0 ? table.num_steps : std::min(spanned, table.num_steps)};
}

Json to_json(const metrics::SourceMix& mix, const metrics::StepEntries& entries,
             const std::vector<corpus::Source>& sources) {
  Json windows = {{"steps", entries.steps_per_window}};
  windows.update(level_json(mix.windows, sources));
  Json rows = Json::array();
  for (std::size_t s = 0; s < sources.size(); ++s) {
    rows.push_back({{"name", sources[s].name},
                    {"steps", shares_json(mix.steps, s)},
                    {"windows", shares_json(mix.windows, s)}});
  }
  return {{"steps", level_json(mix.steps, sources)},
          {"windows", std::move(windows)},
          {"sources", std::move(rows)}};
}

}  // namespace omnibal::plan
