// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "omnibal/base/name_table.h"
#include "omnibal/cost/linear_cost_json.h"
#include "omnibal/metrics/occupancy.h"
#include "omnibal/metrics/pack_bound.h"
#include "omnibal/plan/data_plan.h"
#include "omnibal/plan/mix.h"
#include "omnibal/steps/row_order.h"

namespace omnibal::plan {
namespace {

using codec::Json;

constexpr std::array kCapSources = {Named{CapSource::kGiven, "given"},
                                    Named{CapSource::kPaper, "paper"},
                                    Named{CapSource::kAuto, "auto"}};

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
  json["forward_s"] = cost::to_json(data.forward);
  json["row_order"] = steps::to_string(options.row_order);
  return json;
}

Json chosen_limits_json(const DataPlanOptions& options) {
  Json json = limits_json(options.limits);
  json["chosen_by"] = to_string(options.caps_by);
  if (options.choice) json["explanation"] = to_json(*options.choice);
  return json;
}

}  // namespace

std::string_view to_string(CapSource source) { return name_in(kCapSources, source); }

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

Json to_json(const DataPlan& data, const corpus::Corpus& corpus, const DataPlanOptions& options) {
  const pack::Packs& packs = data.grouping.packs;
  const metrics::SampleColumns samples = columns(corpus, data);
  const metrics::PackCaps caps = options.limits.caps();
  const std::int64_t bound = metrics::pack_lower_bound(samples, packs.samples, caps);
  const metrics::Fill fill = metrics::fill(data.loads, caps);
  Json json = {
      {"method", pack::to_string(options.method)},
      {"padded", data.grouping.padded},
      {"limits", chosen_limits_json(options)},
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
      {"pad_ratio", data.grouping.pad_ratio(samples, data.loads, options.limits.token_multiple)}};
  json["mix"] = mix_json(corpus.sources, sourced_samples(corpus, data), data.admission.rejected);
  if (!data.steps) return json;
  json["steps"] = steps_json(data, *options.steps);
  json["steps"]["source_mix"] =
      to_json(*data.mix, mix_entries(*data.steps, options.steps->window), corpus.sources);
  if (data.worst) json["worst_pack"] = to_json(*data.worst);
  return json;
}

}  // namespace omnibal::plan
