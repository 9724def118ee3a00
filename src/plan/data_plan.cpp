// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/data_plan.h"

#include "omnibal/metrics/occupancy.h"
#include "omnibal/metrics/pack_bound.h"
#include "omnibal/plan/mix.h"

namespace omnibal::plan {
namespace {

using codec::Json;

Json limits_json(const pack::PackLimits& limits) {
  Json json = {{"vision_cap", limits.vision_cap},
               {"token_cap", limits.token_cap},
               {"vision_floor", limits.vision_floor},
               {"token_floor", limits.token_floor},
               {"rounds", limits.rounds}};
  if (limits.max_samples > 0) json["max_samples"] = limits.max_samples;
  if (limits.token_multiple > 1) json["token_multiple"] = limits.token_multiple;
  return json;
}

Json steps_json(const steps::StepTable& table, const steps::StepSummary& summary,
                const steps::StepOptions& options) {
  Json json = steps::to_json(summary);
  json["dp"] = table.dp;
  json["window"] = options.window;
  json["tail"] = steps::to_string(options.tail);
  json["dropped_packs"] = table.dropped_packs;
  json["repeated_packs"] = table.repeated_packs;
  return json;
}

}  // namespace

metrics::SampleColumns columns(const corpus::Corpus& corpus) {
  return {corpus.vision, corpus.tokens};
}

metrics::SampleColumns columns(const corpus::Corpus& corpus, const DataPlan& data) {
  if (data.cut_tokens.empty()) return columns(corpus);
  return {corpus.vision, data.cut_tokens};
}

std::vector<std::uint32_t> cut_tokens(const corpus::Corpus& corpus,
                                      const pack::Admission& admission) {
  if (admission.truncated.empty()) return {};
  std::vector<std::uint32_t> tokens = corpus.tokens;
  for (const pack::Truncation& cut : admission.truncated) tokens[cut.sample] = cut.to;
  return tokens;
}

pack::CutColumns cut_columns(const corpus::Corpus& corpus) {
  return {corpus.dummy_vision, corpus.supervised, corpus.unit.llm_tokens};
}

Result<DataPlan> make_data_plan(const corpus::Corpus& corpus, const DataPlanOptions& options,
                                const cost::LinearCost& forward, const Progress& progress) {
  DataPlan data;
  OMNIBAL_ASSIGN(data.admission, pack::admit(columns(corpus), options.limits, options.admission,
                                             cut_columns(corpus)));
  data.cut_tokens = cut_tokens(corpus, data.admission);
  const metrics::SampleColumns samples = columns(corpus, data);
  const std::int64_t dp = options.steps ? options.steps->dp : 1;
  data.grouping = pack::group_samples(
      options.method, samples, data.admission.accepted,
      {.limits = options.limits,
       .micro_batches = {.size = options.micro_batch, .dp = dp, .seed = options.seed},
       .seed = options.seed},
      progress);
  data.loads = data.grouping.loads(samples);
  if (!options.steps) return data;
  report(progress, "forming steps", 0, 1);
  if (data.grouping.grid.empty()) {
    OMNIBAL_ASSIGN(data.steps, steps::form_steps(data.loads, *options.steps));
  } else {
    OMNIBAL_ASSIGN(data.steps, steps::steps_from_grid(data.grouping.grid,
                                                      data.grouping.packs.size(), *options.steps));
  }
  data.step_summary =
      steps::summarize_steps(*data.steps, data.grouping.packs.view(), data.loads, forward);
  return data;
}

Json to_json(const DataPlan& data, const corpus::Corpus& corpus, const DataPlanOptions& options) {
  const pack::Packs& packs = data.grouping.packs;
  const metrics::SampleColumns samples = columns(corpus, data);
  const metrics::PackCaps caps = options.limits.caps();
  const std::int64_t bound = metrics::pack_lower_bound(samples, packs.samples, caps);
  const metrics::Fill fill = metrics::fill(data.loads, caps);
  Json json = {
      {"method", pack::to_string(options.method)},
      {"padded", data.grouping.padded},
      {"limits", limits_json(options.limits)},
      {"samples", corpus.size()},
      {"packs", packs.size()},
      {"lower_bound", bound},
      {"gap", static_cast<double>(packs.size()) / static_cast<double>(bound) - 1},
      {"placed", packs.samples.size()},
      {"rejected", data.admission.rejected.size()},
      {"truncated", data.admission.truncated.size()},
      {"duplicated",
       data.steps ? metrics::count_repeated_samples(data.steps->pack_ids, packs.view()) : 0},
      {"over_cap", metrics::count_over_cap(data.loads, caps)},
      {"fill", {{"vision", fill.vision}, {"tokens", fill.tokens}}},
      {"pad_ratio", data.grouping.pad_ratio(samples, options.limits.token_multiple)}};
  const metrics::SourcedSamples sourced{samples, corpus.source,
                                        static_cast<std::int64_t>(corpus.sources.size())};
  json["mix"] = mix_json(corpus.sources, sourced, packs.samples);
  if (!data.steps) return json;
  json["steps"] = steps_json(*data.steps, *data.step_summary, *options.steps);
  const metrics::StepEntries entries = mix_entries(*data.steps, options.steps->window);
  json["steps"]["source_mix"] =
      to_json(metrics::source_mix(entries, packs.view(), sourced), entries, corpus.sources);
  return json;
}

}  // namespace omnibal::plan
