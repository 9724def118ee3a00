// SPDX-License-Identifier: Apache-2.0
//
// The realised mix of sources: totals added up here anew, their spread over steps by room metrics.
#include "omnibal/metrics/source_mix.h"

#include <algorithm>
#include <filesystem>

#include "omnibal/plan/mix.h"
#include "truncated.h"

namespace omnibal::verify {
namespace {

using codec::Json;
using codec::JsonFields;
using metrics::SourceTotals;

const std::string kStepMix = "step_mix.npy";

Status check_sources(const plan::PlanReader& plan, std::size_t num_sources) {
  if (num_sources == 0) return violation("plan.json names no source");
  for (const std::uint16_t source : plan.sample_source()) {
    if (source >= num_sources) return violation("a sample names source {}", source);
  }
  return {};
}

void add_sample(const plan::PlanReader& plan, std::size_t sample, std::span<SourceTotals> totals) {
  SourceTotals& of_source = totals[plan.sample_source()[sample]];
  of_source.samples += 1;
  of_source.vision_units += plan.sample_vision()[sample];
  of_source.tokens += plan.sample_tokens()[sample];
}

/// What `claimed` says of a source, with its share of `all`.
Status check_totals(const Json& claimed, const SourceTotals& own,
                    const std::vector<SourceTotals>& all, const std::string& place) {
  Json computed = {
      {"samples", own.samples}, {"vision_units", own.vision_units}, {"tokens", own.tokens}};
  const auto share = [&](const char* name, std::int64_t SourceTotals::*part) {
    std::int64_t sum = 0;
    for (const SourceTotals& totals : all) sum += totals.*part;
    const double parts = static_cast<double>(own.*part);
    computed["share"][name] = sum > 0 ? parts / static_cast<double>(sum) : 0.0;
  };
  share("samples", &SourceTotals::samples);
  share("vision_units", &SourceTotals::vision_units);
  share("tokens", &SourceTotals::tokens);
  return agree_all(claimed, computed, place);
}

/// What was asked for and given stands in `corpus` too; the repeat follows from it.
Status check_asked(const Json& claimed, const Json& described, std::int64_t samples,
                   const std::string& place) {
  const JsonFields source(described, plan::plan_document_name(), "corpus.sources");
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  OMNIBAL_ASSIGN(const std::int64_t given, source.integer("given", 0, kMost));
  const double repeat = given > 0 ? static_cast<double>(samples) / static_cast<double>(given) : 0.0;
  Json computed = {{"repeat", repeat}};
  for (const char* key : {"name", "weight", "given", "left_out"}) {
    computed[key] = described.value(key, Json());
  }
  return agree_all(claimed, computed, place);
}

/// The totals of every step against the array.
Status check_step_rows(const plan::PlanReader& plan, std::size_t num_sources,
                       std::span<const std::int64_t> claimed) {
  const steps::StepTable& table = *plan.steps();
  const auto width = static_cast<std::size_t>(table.micro_batches * table.dp);
  std::vector<SourceTotals> totals(num_sources);
  for (std::size_t i = 0; i < table.pack_ids.size(); ++i) {
    if (i % width == 0) std::ranges::fill(totals, SourceTotals{});
    const std::int64_t pack = table.pack_ids[i];
    if (pack >= 0) {
      const auto p = static_cast<std::size_t>(pack);
      for (std::int64_t m = plan.pack_offsets()[p]; m < plan.pack_offsets()[p + 1]; ++m) {
        const std::int64_t sample = plan.pack_samples()[static_cast<std::size_t>(m)];
        add_sample(plan, static_cast<std::size_t>(sample), totals);
      }
    }
    if ((i + 1) % width != 0) continue;
    const std::size_t step = i / width;
    for (std::size_t s = 0; s < num_sources; ++s) {
      const auto row = claimed.subspan(3 * (step * num_sources + s), 3);
      if (SourceTotals{row[0], row[1], row[2]} == totals[s]) continue;
      return violation(
          "step {} has {} samples, {} vision units and {} tokens of source {}, {} says {}, {}, {}",
          step, totals[s].samples, totals[s].vision_units, totals[s].tokens, s, kStepMix, row[0],
          row[1], row[2]);
    }
  }
  return {};
}

/// The array stands beside steps.npy unless it would be too large.
Status check_array(const plan::PlanReader& plan, std::size_t num_sources,
                   const std::string& directory) {
  const steps::StepTable& table = *plan.steps();
  const auto sources = static_cast<std::int64_t>(num_sources);
  if (table.num_steps > metrics::kMostStepTotals / sources) return {};
  OMNIBAL_ASSIGN(const codec::NpyFile file, codec::NpyFile::open(directory + "/" + kStepMix));
  OMNIBAL_ASSIGN(const std::span<const std::int64_t> rows, file.as<std::int64_t>(3));
  if (file.shape() != std::vector<std::int64_t>{table.num_steps, sources, 3}) {
    return violation("{} has another shape than ({}, {}, 3)", kStepMix, table.num_steps, sources);
  }
  return check_step_rows(plan, num_sources, rows);
}

Status check_pack_ids(const plan::PlanReader& plan) {
  const auto num_packs = static_cast<std::int64_t>(plan.pack_loads().size());
  for (const std::int64_t id : plan.steps()->pack_ids) {
    if (id >= num_packs) return violation("steps.npy names pack {} of {}", id, num_packs);
  }
  return {};
}

}  // namespace

Finding check_mix(const plan::PlanReader& plan) {
  OMNIBAL_RETURN_IF_ERROR(check_structure(plan));
  OMNIBAL_ASSIGN(const std::vector<std::string> names, source_names(plan));
  OMNIBAL_RETURN_IF_ERROR(check_sources(plan, names.size()));
  std::vector<SourceTotals> all(names.size()), placed(names.size());
  for (std::size_t i = 0; i < plan.sample_source().size(); ++i) add_sample(plan, i, all);
  for (const std::int64_t i : plan.pack_samples()) {
    add_sample(plan, static_cast<std::size_t>(i), placed);
  }
  const JsonFields root(plan.document(), plan::plan_document_name());
  OMNIBAL_ASSIGN(const Json* mix, root.object("mix"));
  OMNIBAL_ASSIGN(const Json* claimed,
                 JsonFields(*mix, plan::plan_document_name(), "mix").array("sources"));
  if (claimed->size() != names.size()) return violation("mix has {} sources", claimed->size());
  for (std::size_t s = 0; s < names.size(); ++s) {
    const std::string place = fmt::format("mix.sources[{}]", s);
    const JsonFields row((*claimed)[s], plan::plan_document_name(), place);
    OMNIBAL_ASSIGN(const Json* of_placed, row.object("placed"));
    OMNIBAL_RETURN_IF_ERROR(
        check_asked((*claimed)[s], plan.document()["corpus"]["sources"][s], all[s].samples, place));
    OMNIBAL_RETURN_IF_ERROR(check_totals((*claimed)[s], all[s], all, place));
    OMNIBAL_RETURN_IF_ERROR(check_totals(*of_placed, placed[s], placed, place + ".placed"));
  }
  return fmt::format("samples, vision units and tokens of {} sources added up", names.size());
}

Finding check_step_mix(const plan::PlanReader& plan, const std::string& directory) {
  OMNIBAL_RETURN_IF_ERROR(check_structure(plan));
  OMNIBAL_RETURN_IF_ERROR(check_pack_ids(plan));
  OMNIBAL_ASSIGN(const std::vector<std::string> names, source_names(plan));
  OMNIBAL_RETURN_IF_ERROR(check_sources(plan, names.size()));
  OMNIBAL_RETURN_IF_ERROR(check_array(plan, names.size(), directory));
  const JsonFields root(plan.document(), plan::plan_document_name());
  OMNIBAL_ASSIGN(const Json* steps, root.object("steps"));
  const JsonFields fields(*steps, plan::plan_document_name(), "steps");
  OMNIBAL_ASSIGN(const Json* claimed, fields.object("source_mix"));
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  OMNIBAL_ASSIGN(const std::int64_t window, fields.integer("window", 0, kMost));
  const std::vector<std::uint32_t> members(plan.pack_samples().begin(), plan.pack_samples().end());
  const metrics::SourcedSamples samples{{plan.sample_vision(), plan.sample_tokens()},
                                        plan.sample_source(),
                                        static_cast<std::int64_t>(names.size())};
  const metrics::StepEntries entries = plan::mix_entries(*plan.steps(), window);
  std::vector<corpus::Source> sources;
  for (const std::string& name : names) sources.push_back({.name = name, .path = "", .hash = ""});
  const Json computed = plan::to_json(
      metrics::source_mix(entries, {plan.pack_offsets(), members}, samples), entries, sources);
  OMNIBAL_RETURN_IF_ERROR(agree_all(*claimed, computed, "steps.source_mix"));
  return fmt::format("{} steps with what they hold of {} sources", plan.steps()->num_steps,
                     names.size());
}

}  // namespace omnibal::verify
