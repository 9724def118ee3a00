// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "checks.h"
#include "omnibal/metrics/balance.h"

namespace omnibal::verify {
namespace {

using codec::Json;

Result<const Json*> steps_of(const plan::PlanReader& plan) {
  return codec::JsonFields(plan.document(), std::string(plan::kPlanDocument)).object("steps");
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

std::int64_t samples_run_again(const plan::PlanReader& plan, const Runs& runs) {
  std::int64_t samples = 0;
  for (std::size_t p = 0; p < runs.of_pack.size(); ++p) {
    const std::int64_t size = plan.pack_offsets()[p + 1] - plan.pack_offsets()[p];
    samples += std::max<std::int64_t>(0, runs.of_pack[p] - 1) * size;
  }
  return samples;
}

using LoadOf = std::int64_t metrics::PackLoad::*;

double dist_of(const plan::PlanReader& plan, LoadOf part) {
  std::vector<double> load;
  for (const metrics::PackLoad& pack : plan.pack_loads()) {
    load.push_back(static_cast<double>(pack.*part));
  }
  return metrics::dist_ratio(plan.steps()->grid(), load);
}

}  // namespace

Finding check_steps(const plan::PlanReader& plan) {
  OMNIBAL_ASSIGN(const Runs runs, count_runs(plan));
  OMNIBAL_ASSIGN(const Json* steps, steps_of(plan));
  const codec::JsonFields fields(*steps, std::string(plan::kPlanDocument), "steps");
  OMNIBAL_ASSIGN(const std::string tail, fields.text("tail"));
  OMNIBAL_RETURN_IF_ERROR(check_tail(runs, tail));
  OMNIBAL_RETURN_IF_ERROR(agree(*steps, "count", plan.steps()->num_steps));
  OMNIBAL_RETURN_IF_ERROR(agree(*steps, "micro_batches", plan.steps()->micro_batches));
  OMNIBAL_RETURN_IF_ERROR(agree(*steps, "dp", plan.steps()->dp));
  OMNIBAL_RETURN_IF_ERROR(agree(*steps, "zero_weight_packs", runs.zero_weight));
  OMNIBAL_RETURN_IF_ERROR(
      agree(*steps, "dropped_packs",
            static_cast<std::int64_t>(std::ranges::count(runs.of_pack, std::int64_t{0}))));
  OMNIBAL_RETURN_IF_ERROR(agree(plan.document(), "duplicated", samples_run_again(plan, runs)));
  return fmt::format("{} steps of {} micro-batches on {} ranks, every pack as tail policy {} says",
                     plan.steps()->num_steps, plan.steps()->micro_batches, plan.steps()->dp, tail);
}

Finding check_step_metrics(const plan::PlanReader& plan) {
  OMNIBAL_RETURN_IF_ERROR(count_runs(plan));
  OMNIBAL_ASSIGN(const Json* steps, steps_of(plan));
  const codec::JsonFields fields(*steps, std::string(plan::kPlanDocument), "steps");
  OMNIBAL_ASSIGN(const Json* dist, fields.object("dist_ratio"));
  OMNIBAL_RETURN_IF_ERROR(agree(*dist, "vision", dist_of(plan, &metrics::PackLoad::vision_units)));
  OMNIBAL_RETURN_IF_ERROR(agree(*dist, "tokens", dist_of(plan, &metrics::PackLoad::tokens)));
  OMNIBAL_RETURN_IF_ERROR(
      agree(*dist, "attention", dist_of(plan, &metrics::PackLoad::token_pairs)));
  return fmt::format("dist ratio recomputed: vision {:.4f}, tokens {:.4f}, attention {:.4f}",
                     dist->at("vision").get<double>(), dist->at("tokens").get<double>(),
                     dist->at("attention").get<double>());
}

}  // namespace omnibal::verify
