// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "checks.h"
#include "omnibal/metrics/balance.h"
#include "omnibal/plan/cursor.h"
#include "omnibal/plan/epoch.h"

namespace omnibal::verify {
namespace {

using codec::Json;
using codec::JsonFields;

Result<const Json*> steps_of(const plan::PlanReader& plan) {
  return JsonFields(plan.document(), plan::plan_document_name()).object("steps");
}

/// How often each pack runs in an epoch, and how many entries are zero-weight packs.
struct Runs {
  std::vector<std::int64_t> of_pack;
  std::int64_t zero_weight = 0;
};

Result<Runs> count_runs(const plan::PlanReader& plan) {
  const auto num_packs = static_cast<std::int64_t>(plan.pack_loads().size());
  const std::vector<std::int64_t>& ids = plan.steps()->pack_ids;
  Runs runs{.of_pack = std::vector<std::int64_t>(plan.pack_loads().size(), 0)};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == steps::kZeroWeightPack) {
      ++runs.zero_weight;
    } else if (ids[i] < 0 || ids[i] >= num_packs) {
      return violation("steps.npy entry {} is pack {}, there are {} packs", i, ids[i], num_packs);
    } else {
      ++runs.of_pack[static_cast<std::size_t>(ids[i])];
    }
  }
  return runs;
}

/// Which numbers of runs the tail policy allows.
Status check_tail(const Runs& runs, const std::string& tail) {
  if (!steps::parse_tail(tail)) return violation("there is no tail policy \"{}\"", tail);
  for (std::size_t p = 0; p < runs.of_pack.size(); ++p) {
    const std::int64_t count = runs.of_pack[p];
    if (count == 0 && tail != "drop") return violation("pack {} runs in no step", p);
    if (count > 1 && tail != "repeat") return violation("pack {} runs {} times", p, count);
  }
  if (runs.zero_weight > 0 && tail != "zero-weight") {
    return violation("{} zero-weight packs under tail policy {}", runs.zero_weight, tail);
  }
  return {};
}

/// Packs that run again, and the samples in them.
struct Repeats {
  std::int64_t packs = 0;
  std::int64_t samples = 0;
};

Repeats repeats_of(const plan::PlanReader& plan, const Runs& runs) {
  Repeats repeats;
  for (std::size_t p = 0; p < runs.of_pack.size(); ++p) {
    const std::int64_t again = std::max<std::int64_t>(0, runs.of_pack[p] - 1);
    repeats.packs += again;
    repeats.samples += again * pack_size(plan, p);
  }
  return repeats;
}

Status check_samples_per_step(const plan::PlanReader& plan, const Json& claimed) {
  const steps::StepTable& table = *plan.steps();
  std::vector<double> samples(static_cast<std::size_t>(table.num_steps), 0);
  const std::size_t width = table.pack_ids.size() / samples.size();
  for (std::size_t i = 0; i < table.pack_ids.size(); ++i) {
    if (table.pack_ids[i] == steps::kZeroWeightPack) continue;
    const auto pack = static_cast<std::size_t>(table.pack_ids[i]);
    samples[i / width] += static_cast<double>(pack_size(plan, pack));
  }
  const auto count = static_cast<double>(samples.size());
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  double squares = 0;
  for (const double of_step : samples) squares += (of_step - mean) * (of_step - mean);
  OMNIBAL_RETURN_IF_ERROR(agree(claimed, "mean", mean));
  return agree(claimed, "std", std::sqrt(squares / count));
}

template <class ValueOf>
double dist_of(const plan::PlanReader& plan, const ValueOf& value_of) {
  std::vector<double> values;
  for (const metrics::PackLoad& load : plan.pack_loads()) {
    values.push_back(value_of(metrics::to_load(load)));
  }
  return metrics::dist_ratio(plan.steps()->grid(), values);
}

Status check_dist_ratio(const plan::PlanReader& plan, const Json& claimed) {
  const auto of = [&](double cost::Load::*part) {
    return dist_of(plan, [part](const cost::Load& load) { return load.*part; });
  };
  OMNIBAL_RETURN_IF_ERROR(agree(claimed, "vision", of(&cost::Load::vision_units)));
  OMNIBAL_RETURN_IF_ERROR(agree(claimed, "tokens", of(&cost::Load::tokens)));
  OMNIBAL_RETURN_IF_ERROR(agree(claimed, "attention", of(&cost::Load::token_pairs)));
  OMNIBAL_ASSIGN(const steps::StepSource source, plan::step_source(plan));
  const cost::LinearCost& forward = source.options.forward;
  if (plan.profile() != nullptr && forward != cost::total_forward(*plan.profile())) {
    return violation("steps.forward_s is not the forward time of profile.json");
  }
  return agree(claimed, "time",
               dist_of(plan, [&](const cost::Load& load) { return forward.at(load); }));
}

/// The same packs dealt anew in the order that the plan's seed gives.
Status check_random_order(const plan::PlanReader& plan, const Json& claimed) {
  OMNIBAL_ASSIGN(const steps::StepSource source, plan::step_source(plan));
  steps::StepOptions options = source.options;
  options.dp = plan.steps()->dp;
  options.micro_batches = plan.steps()->micro_batches;
  const auto num_packs = static_cast<std::int64_t>(plan.pack_loads().size());
  OMNIBAL_ASSIGN(const steps::StepTable random, steps::deal_randomly(num_packs, options));
  const metrics::DistRatios ratios =
      metrics::dist_ratios(random.grid(), plan.pack_loads(), options.forward);
  return agree_all(claimed, steps::to_json(ratios), "steps.dist_ratio_random_order");
}

}  // namespace

Finding check_steps(const plan::PlanReader& plan) {
  OMNIBAL_RETURN_IF_ERROR(check_structure(plan));
  OMNIBAL_ASSIGN(const Runs runs, count_runs(plan));
  OMNIBAL_ASSIGN(const Json* steps, steps_of(plan));
  const JsonFields fields(*steps, plan::plan_document_name(), "steps");
  OMNIBAL_ASSIGN(const std::string tail, fields.text("tail"));
  OMNIBAL_RETURN_IF_ERROR(check_tail(runs, tail));
  OMNIBAL_RETURN_IF_ERROR(agree(*steps, "count", plan.steps()->num_steps));
  OMNIBAL_RETURN_IF_ERROR(agree(*steps, "micro_batches", plan.steps()->micro_batches));
  OMNIBAL_RETURN_IF_ERROR(agree(*steps, "dp", plan.steps()->dp));
  OMNIBAL_RETURN_IF_ERROR(agree(*steps, "zero_weight_packs", runs.zero_weight));
  OMNIBAL_RETURN_IF_ERROR(
      agree(*steps, "dropped_packs",
            static_cast<std::int64_t>(std::ranges::count(runs.of_pack, std::int64_t{0}))));
  const Repeats repeats = repeats_of(plan, runs);
  OMNIBAL_RETURN_IF_ERROR(agree(*steps, "repeated_packs", repeats.packs));
  OMNIBAL_RETURN_IF_ERROR(agree(plan.document(), "duplicated", repeats.samples));
  return fmt::format("{} steps of {} micro-batches on {} ranks, every pack as tail policy {} says",
                     plan.steps()->num_steps, plan.steps()->micro_batches, plan.steps()->dp, tail);
}

Finding check_step_metrics(const plan::PlanReader& plan) {
  OMNIBAL_RETURN_IF_ERROR(check_structure(plan));
  OMNIBAL_RETURN_IF_ERROR(count_runs(plan));
  OMNIBAL_ASSIGN(const Json* steps, steps_of(plan));
  const JsonFields fields(*steps, plan::plan_document_name(), "steps");
  OMNIBAL_ASSIGN(const Json* samples, fields.object("samples_per_step"));
  OMNIBAL_RETURN_IF_ERROR(check_samples_per_step(plan, *samples));
  OMNIBAL_ASSIGN(const Json* dist, fields.object("dist_ratio"));
  OMNIBAL_RETURN_IF_ERROR(check_dist_ratio(plan, *dist));
  OMNIBAL_ASSIGN(const Json* random, fields.object("dist_ratio_random_order"));
  OMNIBAL_RETURN_IF_ERROR(check_random_order(plan, *random));
  OMNIBAL_RETURN_IF_ERROR(
      agree(*steps, "vision_idle_groups",
            metrics::count_vision_idle_rows(plan.steps()->grid(), plan.pack_loads())));
  return fmt::format(
      "samples a step and dist ratios recomputed{}",
      plan.profile() != nullptr ? "" : "; that of time by the costs that plan.json names");
}

}  // namespace omnibal::verify
