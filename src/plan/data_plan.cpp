// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/data_plan.h"

#include <array>
#include <functional>
#include <utility>

#include "omnibal/base/parallel.h"
#include "omnibal/plan/mix.h"
#include "omnibal/plan/pack_time.h"

namespace omnibal::plan {

metrics::SampleColumns columns(const corpus::Corpus& corpus) {
  return {corpus.vision, corpus.tokens};
}

metrics::SampleColumns columns(const corpus::Corpus& corpus, const DataPlan& data) {
  if (data.cut_tokens.empty()) return columns(corpus);
  return {corpus.vision, data.cut_tokens};
}

metrics::SourcedSamples sourced_samples(const corpus::Corpus& corpus, const DataPlan& data) {
  return {columns(corpus, data), corpus.source, static_cast<std::int64_t>(corpus.sources.size())};
}

pack::CutColumns cut_columns(const corpus::Corpus& corpus) {
  return {corpus.dummy_vision, corpus.supervised, corpus.unit.llm_tokens};
}

Result<DataPlan> pack_corpus(const corpus::Corpus& corpus, const DataPlanOptions& options,
                             const cost::LinearCost& forward, const Progress& progress) {
  DataPlan data;
  OMNIBAL_ASSIGN(data.admission, pack::admit(columns(corpus), options.limits, options.admission,
                                             cut_columns(corpus)));
  data.cut_tokens =
      pack::cut_column(corpus.tokens, data.admission.truncated, &pack::Truncation::to);
  const metrics::SampleColumns samples = columns(corpus, data);
  const std::int64_t dp = options.steps ? options.steps->dp : 1;
  data.grouping = pack::group_samples(
      options.method, samples, data.admission.accepted,
      {.limits = options.limits,
       .micro_batches = {.size = options.micro_batch, .dp = dp, .seed = options.seed},
       .seed = options.seed,
       .automatic = {.predicted_time = step_time_of_packs(kUsualSteps, forward),
                     .threads = options.threads}},
      progress);
  data.loads = data.grouping.loads(samples);
  return data;
}

Status add_steps(DataPlan& data, const DataPlanOptions& options, const cost::LinearCost& forward,
                 const Progress& progress) {
  report(progress, "forming steps", 0, 1);
  data.forward = forward;
  steps::StepOptions forming = *options.steps;
  forming.forward = forward;
  if (options.worst_first) {
    forming.first_pack = heaviest_pack(data.loads, options.activation_bytes);
  }
  if (data.grouping.grid.empty()) {
    OMNIBAL_ASSIGN(data.steps, steps::form_steps(data.loads, forming));
  } else {
    OMNIBAL_ASSIGN(data.steps,
                   steps::steps_from_grid(data.grouping.grid, data.grouping.packs.size(), forming));
  }
  return {};
}

namespace {

Status ratios_in_random_order(const DataPlan& data, const DataPlanOptions& options,
                              metrics::DistRatios& ratios) {
  OMNIBAL_ASSIGN(const steps::StepTable random,
                 steps::deal_randomly(data.grouping.packs.size(), *options.steps));
  ratios = metrics::dist_ratios(random.grid(), data.loads, data.forward);
  return {};
}

}  // namespace

Status describe_steps(DataPlan& data, const corpus::Corpus& corpus,
                      const DataPlanOptions& options) {
  const metrics::GroupView packs = data.grouping.packs.view();
  steps::StepSummary summary;
  metrics::DistRatios in_random_order;
  Status dealt;
  const auto parts = std::to_array<std::function<void()>>(
      {[&] {
         data.mix = metrics::source_mix(mix_entries(*data.steps, options.steps->window), packs,
                                        sourced_samples(corpus, data));
       },
       [&] { dealt = ratios_in_random_order(data, options, in_random_order); },
       [&] {
         summary = steps::summarize_steps(*data.steps, packs, data.loads, data.forward);
         data.worst = worst_pack(heaviest_pack(data.loads, options.activation_bytes), data.loads,
                                 *data.steps, options.activation_bytes);
       }});
  parallel_for_each(parts.size(), options.threads, [&](std::size_t i) { parts[i](); });
  OMNIBAL_RETURN_IF_ERROR(dealt);
  summary.random_order = in_random_order;
  data.step_summary = std::move(summary);
  return {};
}

Result<DataPlan> make_data_plan(const corpus::Corpus& corpus, const DataPlanOptions& options,
                                const cost::LinearCost& forward, const Progress& progress) {
  OMNIBAL_ASSIGN(DataPlan data, pack_corpus(corpus, options, forward, progress));
  if (!options.steps) return data;
  OMNIBAL_RETURN_IF_ERROR(add_steps(data, options, forward, progress));
  OMNIBAL_RETURN_IF_ERROR(describe_steps(data, corpus, options));
  return data;
}

}  // namespace omnibal::plan
