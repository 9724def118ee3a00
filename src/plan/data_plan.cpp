// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/data_plan.h"

#include "omnibal/metrics/occupancy.h"
#include "omnibal/metrics/pack_bound.h"
#include "omnibal/plan/pack_time.h"

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

Json cost_json(const cost::LinearCost& cost) {
  return {{"constant", cost.constant},
          {"per_vision_unit", cost.per_vision_unit},
          {"per_token", cost.per_token},
          {"per_token_pair", cost.per_token_pair}};
}

Json steps_json(const DataPlan& data, const steps::StepOptions& options) {
  const steps::StepTable& table = *data.steps;
  Json json = steps::to_json(*data.step_summary);
  json["dp"] = table.dp;
  json["window"] = options.window;
  json["tail"] = steps::to_string(options.tail);
  json["dropped_packs"] = table.dropped_packs;
  json["repeated_packs"] = table.repeated_packs;
  json["dropped_pack_ids"] = table.dropped;
  json["repeated_pack_ids"] = table.repeated;
  json["incomplete_pack_ids"] = table.incomplete;
  json["forward_s"] = cost_json(data.forward);
  return json;
}

}  // namespace

metrics::SampleColumns columns(const corpus::Corpus& corpus) {
  return {corpus.vision, corpus.tokens};
}

Result<DataPlan> pack_corpus(const corpus::Corpus& corpus, const DataPlanOptions& options,
                             const Progress& progress) {
  DataPlan data;
  const metrics::SampleColumns samples = columns(corpus);
  OMNIBAL_ASSIGN(data.admission, pack::admit(samples, options.limits, options.admission));
  const std::int64_t dp = options.steps ? options.steps->dp : 1;
  data.grouping = pack::group_samples(
      options.method, samples, data.admission.accepted,
      {.limits = options.limits,
       .micro_batches = {.size = options.micro_batch, .dp = dp, .seed = options.seed},
       .seed = options.seed,
       .automatic = {.predicted_time = step_time_of_packs(
                         options.steps.value_or(steps::StepOptions{.seed = options.seed}), forward),
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

Status describe_steps(DataPlan& data, const DataPlanOptions& options) {
  const metrics::GroupView packs = data.grouping.packs.view();
  data.worst = worst_pack(heaviest_pack(data.loads, options.activation_bytes), data.loads,
                          *data.steps, options.activation_bytes);
  data.step_summary = steps::summarize_steps(*data.steps, packs, data.loads, data.forward);
  OMNIBAL_ASSIGN(const steps::StepTable random,
                 steps::deal_randomly(data.grouping.packs.size(), *options.steps));
  data.step_summary->random_order = metrics::dist_ratios(random.grid(), data.loads, data.forward);
  return {};
}

Result<DataPlan> make_data_plan(const corpus::Corpus& corpus, const DataPlanOptions& options,
                                const cost::LinearCost& forward, const Progress& progress) {
  OMNIBAL_ASSIGN(DataPlan data, pack_corpus(corpus, options, progress));
  if (!options.steps) return data;
  OMNIBAL_RETURN_IF_ERROR(add_steps(data, options, forward, progress));
  OMNIBAL_RETURN_IF_ERROR(describe_steps(data, options));
  return data;
}

Json to_json(const DataPlan& data, const corpus::Corpus& corpus, const DataPlanOptions& options) {
  const pack::Packs& packs = data.grouping.packs;
  const metrics::SampleColumns samples = columns(corpus);
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
      {"duplicated",
       data.steps ? metrics::count_repeated_samples(data.steps->pack_ids, packs.view()) : 0},
      {"over_cap", metrics::count_over_cap(data.loads, caps)},
      {"fill", {{"vision", fill.vision}, {"tokens", fill.tokens}}},
      {"pad_ratio", data.grouping.pad_ratio(samples, options.limits.token_multiple)}};
  if (data.steps) json["steps"] = steps_json(data, *options.steps);
  if (data.worst) json["worst_pack"] = to_json(*data.worst);
  return json;
}

}  // namespace omnibal::plan
