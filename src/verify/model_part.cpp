// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "checks.h"
#include "omnibal/plan/plan_pipeline.h"
#include "omnibal/simulate/ranked_stages.h"

namespace omnibal::verify {
namespace {

using codec::Json;
using codec::JsonFields;

/// The load of a pack at both caps, one segment long.
Result<cost::Load> load_at_caps(const plan::PlanReader& plan) {
  OMNIBAL_ASSIGN(const Caps caps, caps_of(plan));
  const auto tokens = static_cast<double>(caps.tokens);
  return cost::Load{static_cast<double>(caps.vision_units), tokens, tokens * tokens};
}

/// Stages and ranks of the plan, the same load in every micro-batch.
Result<simulate::RankedStages> stages_at(const plan::PlanReader& plan, const cost::Load& load) {
  OMNIBAL_ASSIGN(const plan::PlanPipeline pipeline, plan::read_pipeline(plan));
  OMNIBAL_RETURN_IF_ERROR(cost::check_bytes(*plan.profile(), load, plan.steps()->micro_batches));
  return simulate::ranked_stages(pipeline.schedule, pipeline.profile, load, pipeline.cuts,
                                 pipeline.recompute);
}

Result<simulate::RankedStages> stages_at_caps(const plan::PlanReader& plan) {
  OMNIBAL_ASSIGN(const cost::Load load, load_at_caps(plan));
  return stages_at(plan, load);
}

/// Peak of the fullest rank with the largest of each load of the packs in every micro-batch.
Result<std::int64_t> peak_at_worst_pack(const plan::PlanReader& plan) {
  OMNIBAL_ASSIGN(const simulate::RankedStages found,
                 stages_at(plan, metrics::largest_load(plan.pack_loads())));
  return std::ranges::max_element(found.ranks, {}, &metrics::RankSummary::peak_bytes)->peak_bytes;
}

Status check_stage(const Json& claimed, const metrics::StageSummary& stage) {
  OMNIBAL_RETURN_IF_ERROR(agree(claimed, "first_layer", std::int64_t{stage.first_layer}));
  OMNIBAL_RETURN_IF_ERROR(agree(claimed, "num_layers", std::int64_t{stage.num_layers}));
  OMNIBAL_RETURN_IF_ERROR(agree(claimed, "forward_s", stage.forward_s));
  OMNIBAL_RETURN_IF_ERROR(agree(claimed, "backward_s", stage.backward_s));
  OMNIBAL_RETURN_IF_ERROR(agree(claimed, "recompute_s", stage.recompute_s));
  OMNIBAL_RETURN_IF_ERROR(agree(claimed, "static_bytes", stage.static_bytes));
  OMNIBAL_RETURN_IF_ERROR(agree(claimed, "kept_bytes", stage.kept_bytes));
  OMNIBAL_RETURN_IF_ERROR(agree(claimed, "transient_bytes", stage.transient_bytes));
  OMNIBAL_RETURN_IF_ERROR(agree(claimed, "in_flight", stage.in_flight));
  OMNIBAL_RETURN_IF_ERROR(agree(claimed, "rank", std::int64_t{stage.rank}));
  return agree(claimed, "peak_bytes", stage.peak_bytes);
}

Status check_ranks(const Json& partition, const std::vector<metrics::RankSummary>& ranks) {
  OMNIBAL_ASSIGN(const Json* claimed,
                 JsonFields(partition, plan::plan_document_name(), "partition").array("ranks"));
  if (claimed->size() != ranks.size()) {
    return violation("plan.json lists {} ranks, the schedule has {}", claimed->size(),
                     ranks.size());
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    OMNIBAL_RETURN_IF_ERROR(agree_all((*claimed)[r], {{"stages", ranks[r].stages}}, "ranks"));
    OMNIBAL_RETURN_IF_ERROR(agree((*claimed)[r], "busy_s", ranks[r].busy_s));
    OMNIBAL_RETURN_IF_ERROR(agree((*claimed)[r], "static_bytes", ranks[r].static_bytes));
    OMNIBAL_RETURN_IF_ERROR(agree((*claimed)[r], "peak_bytes", ranks[r].peak_bytes));
  }
  return {};
}

}  // namespace

Finding check_parallel(const plan::PlanReader& plan) {
  OMNIBAL_ASSIGN(const Json* parallel,
                 JsonFields(plan.document(), plan::plan_document_name()).object("parallel"));
  const JsonFields fields(*parallel, plan::plan_document_name(), "parallel");
  constexpr std::int64_t kMost = 1 << 24;
  OMNIBAL_ASSIGN(const std::int64_t tp, fields.integer("tp", 1, kMost));
  OMNIBAL_ASSIGN(const std::int64_t pp, fields.integer("pp", 1, kMost));
  if (plan.steps() == nullptr) return violation("a model part without steps");
  OMNIBAL_ASSIGN(const std::string layout,
                 JsonFields(plan.document(), plan::plan_document_name()).text("layout"));
  if (layout != "integrated") return violation("there is no layout \"{}\"", layout);
  OMNIBAL_RETURN_IF_ERROR(agree(*parallel, "dp", plan.steps()->dp));
  OMNIBAL_RETURN_IF_ERROR(agree(*parallel, "micro_batches", plan.steps()->micro_batches));
  return fmt::format("tp {} x pp {} x dp {}, {} micro-batches a rank", tp, pp, plan.steps()->dp,
                     plan.steps()->micro_batches);
}

Finding check_partition(const plan::PlanReader& plan) {
  OMNIBAL_ASSIGN(const simulate::RankedStages found, stages_at_caps(plan));
  const std::vector<metrics::StageSummary>& stages = found.stages;
  OMNIBAL_ASSIGN(const Json* partition,
                 JsonFields(plan.document(), plan::plan_document_name()).object("partition"));
  OMNIBAL_ASSIGN(const Json* claimed,
                 JsonFields(*partition, plan::plan_document_name(), "partition").array("stages"));
  if (claimed->size() != stages.size()) {
    return violation("plan.json lists {} stages, its cuts make {}", claimed->size(), stages.size());
  }
  for (std::size_t s = 0; s < stages.size(); ++s) {
    OMNIBAL_RETURN_IF_ERROR(check_stage((*claimed)[s], stages[s]));
  }
  OMNIBAL_RETURN_IF_ERROR(check_ranks(*partition, found.ranks));
  return fmt::format("{} stages hold {} layers, each once", stages.size(),
                     plan.profile()->layers.size());
}

Finding check_recompute(const plan::PlanReader& plan) {
  OMNIBAL_ASSIGN(const plan::PlanPipeline pipeline, plan::read_pipeline(plan));
  OMNIBAL_ASSIGN(const cost::Load load, load_at_caps(plan));
  const std::vector<cost::LayerCost> costs = cost::evaluate(pipeline.profile, load);
  for (std::size_t layer = 0; layer < costs.size(); ++layer) {
    if (pipeline.recompute[layer] && !costs[layer].can_recompute) {
      return violation("layer {} recomputes but has nothing to gain", layer);
    }
  }
  return fmt::format("{} of {} layers recompute", std::ranges::count(pipeline.recompute, true),
                     costs.size());
}

Finding check_memory(const plan::PlanReader& plan) {
  OMNIBAL_ASSIGN(const simulate::RankedStages found, stages_at_caps(plan));
  const JsonFields root(plan.document(), plan::plan_document_name());
  OMNIBAL_ASSIGN(const std::int64_t limit,
                 root.integer("memory_bytes", 0, std::numeric_limits<std::int64_t>::max()));
  std::int64_t peak = 0;
  for (std::size_t r = 0; r < found.ranks.size(); ++r) {
    peak = std::max(peak, found.ranks[r].peak_bytes);
    if (found.ranks[r].peak_bytes > limit) {
      return violation("rank {} needs {} bytes, the limit is {}", r, found.ranks[r].peak_bytes,
                       limit);
    }
  }
  OMNIBAL_ASSIGN(const Json* prediction, root.object("prediction"));
  OMNIBAL_RETURN_IF_ERROR(agree(*prediction, "peak_bytes", peak));
  OMNIBAL_ASSIGN(const std::int64_t worst_pack, peak_at_worst_pack(plan));
  OMNIBAL_RETURN_IF_ERROR(agree(*prediction, "peak_bytes_worst_pack", worst_pack));
  return fmt::format(
      "fullest rank {:.1f} GB of {:.1f} GB, every micro-batch at the caps; {:.1f} GB at the worst "
      "pack",
      static_cast<double>(peak) / 1e9, static_cast<double>(limit) / 1e9,
      static_cast<double>(worst_pack) / 1e9);
}

}  // namespace omnibal::verify
