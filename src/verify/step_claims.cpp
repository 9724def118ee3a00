// SPDX-License-Identifier: Apache-2.0
//
// What plan.json says about single packs: those that the tail policy touches, and the worst one.
#include <algorithm>
#include <cmath>
#include <limits>

#include "checks.h"
#include "omnibal/cost/profile.h"
#include "omnibal/plan/cursor.h"

namespace omnibal::verify {
namespace {

using codec::Json;
using codec::JsonFields;
using Ids = std::vector<std::int64_t>;

/// Ids of plan.json against those that steps.npy gives, in whatever order.
Status agree_on_ids(const JsonFields& steps, std::string_view key, Ids found) {
  OMNIBAL_ASSIGN(Ids claimed, steps.integers(key, 0, std::numeric_limits<std::int64_t>::max()));
  std::ranges::sort(claimed);
  std::ranges::sort(found);
  if (claimed == found) return {};
  return violation("plan.json names {} packs as {}, steps.npy gives {} or others", claimed.size(),
                   key, found.size());
}

/// Packs that share a row with a zero-weight pack.
Ids beside_zero_weight(const steps::StepTable& table) {
  Ids packs;
  const auto dp = static_cast<std::size_t>(table.dp);
  for (std::size_t row = 0; row < table.pack_ids.size(); row += dp) {
    const auto ids = std::span(table.pack_ids).subspan(row, dp);
    if (std::ranges::find(ids, steps::kZeroWeightPack) == ids.end()) continue;
    std::ranges::copy_if(ids, std::back_inserter(packs), [](std::int64_t id) { return id >= 0; });
  }
  return packs;
}

/// `worst_pack` is where plan.json says, and has the load that it says.
Status check_place_and_load(const plan::PlanReader& plan, const Json& worst, std::int64_t pack) {
  const metrics::PackLoad& load = plan.pack_loads()[static_cast<std::size_t>(pack)];
  OMNIBAL_RETURN_IF_ERROR(agree(worst, "vision_units", load.vision_units));
  OMNIBAL_RETURN_IF_ERROR(agree(worst, "tokens", load.tokens));
  OMNIBAL_RETURN_IF_ERROR(agree(worst, "token_pairs", load.token_pairs));
  const steps::StepTable& table = *plan.steps();
  const auto found = std::ranges::find(table.pack_ids, pack);
  if (found == table.pack_ids.end()) {
    if (worst.contains("step") && worst["step"].is_null()) return {};
    return violation("worst_pack {} has a step, but runs in none", pack);
  }
  const std::int64_t entry = found - table.pack_ids.begin();
  OMNIBAL_RETURN_IF_ERROR(agree(worst, "rank", entry % table.dp));
  OMNIBAL_RETURN_IF_ERROR(agree(worst, "micro_batch", entry / table.dp % table.micro_batches));
  return agree(worst, "step", entry / table.dp / table.micro_batches);
}

double kept_bytes(const cost::Profile& profile, const metrics::PackLoad& load) {
  double sum = 0;
  for (const cost::LayerCost& layer : cost::evaluate(profile, metrics::to_load(load))) {
    sum += static_cast<double>(layer.activation_bytes);
  }
  return sum;
}

/// No other pack keeps more than the worst, by the costs of the plan's own profile. Bytes of a
/// layer are whole numbers there.
Status check_bytes(const plan::PlanReader& plan, const Json& worst, std::int64_t pack) {
  const auto loads = plan.pack_loads();
  const cost::Profile& profile = *plan.profile();
  const double most = kept_bytes(profile, loads[static_cast<std::size_t>(pack)]);
  const auto tolerance = static_cast<double>(profile.layers.size());
  const auto claimed = worst.find("activation_bytes");
  if (claimed == worst.end() || !claimed->is_number() ||
      !(std::abs(claimed->get<double>() - most) <= tolerance)) {
    return violation("activation_bytes of worst_pack {} are {:.0f} by profile.json", pack, most);
  }
  std::vector<metrics::PackLoad> distinct(loads.begin(), loads.end());
  const auto key = [](const metrics::PackLoad& l) {
    return std::tuple(l.vision_units, l.tokens, l.token_pairs);
  };
  std::ranges::sort(distinct, {}, key);
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  for (const metrics::PackLoad& load : distinct) {
    if (kept_bytes(profile, load) > most + tolerance) {
      return violation("a pack of {} vision units and {} tokens keeps more than worst_pack {}",
                       load.vision_units, load.tokens, pack);
    }
  }
  return {};
}

}  // namespace

Finding check_epochs(const plan::PlanReader& plan) {
  OMNIBAL_ASSIGN(const steps::StepSource source, plan::step_source(plan));
  const auto num_packs = static_cast<std::int64_t>(plan.pack_loads().size());
  OMNIBAL_ASSIGN(const steps::GroupPool pool,
                 steps::group_pool(*plan.steps(), num_packs, source.options.tail));
  Ids runs(plan.pack_loads().size(), 0);
  for (const std::int64_t pack : plan.steps()->pack_ids) {
    if (pack >= 0) ++runs[static_cast<std::size_t>(pack)];
  }
  Ids never;
  Ids again;
  for (std::int64_t pack = 0; pack < num_packs; ++pack) {
    const std::int64_t count = runs[static_cast<std::size_t>(pack)];
    if (count == 0) never.push_back(pack);
    for (std::int64_t i = 1; i < count; ++i) again.push_back(pack);
  }
  OMNIBAL_ASSIGN(const Json* json,
                 JsonFields(plan.document(), plan::plan_document_name()).object("steps"));
  const JsonFields steps(*json, plan::plan_document_name(), "steps");
  OMNIBAL_RETURN_IF_ERROR(agree_on_ids(steps, "dropped_pack_ids", never));
  OMNIBAL_RETURN_IF_ERROR(agree_on_ids(steps, "repeated_pack_ids", again));
  OMNIBAL_RETURN_IF_ERROR(
      agree_on_ids(steps, "incomplete_pack_ids", beside_zero_weight(*plan.steps())));
  return fmt::format("{} groups to deal anew in every epoch", pool.num_groups);
}

Finding check_worst_pack(const plan::PlanReader& plan) {
  OMNIBAL_ASSIGN(const Json* worst,
                 JsonFields(plan.document(), plan::plan_document_name()).object("worst_pack"));
  const auto num_packs = static_cast<std::int64_t>(plan.pack_loads().size());
  OMNIBAL_ASSIGN(const std::int64_t pack,
                 JsonFields(*worst, plan::plan_document_name(), "worst_pack")
                     .integer("pack", 0, num_packs - 1));
  OMNIBAL_RETURN_IF_ERROR(check_place_and_load(plan, *worst, pack));
  if (plan.profile() == nullptr) {
    constexpr double kAnyBytes = 1e30;
    OMNIBAL_RETURN_IF_ERROR(JsonFields(*worst, plan::plan_document_name(), "worst_pack")
                                .number("activation_bytes", 0, kAnyBytes));
    return fmt::format(
        "pack {} is where it should be; its bytes not: without a model part they "
        "are a default model's",
        pack);
  }
  OMNIBAL_RETURN_IF_ERROR(check_bytes(plan, *worst, pack));
  return fmt::format("no pack keeps more bytes than pack {}", pack);
}

}  // namespace omnibal::verify
