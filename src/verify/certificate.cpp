// SPDX-License-Identifier: Apache-2.0
//
// The certificate of the plan's cuts: its bound, the slowest rank, and what moved cuts take.
#include "checks.h"
#include "model_claims.h"
#include "omnibal/base/version.h"
#include "omnibal/plan/planner.h"

namespace omnibal::verify {
namespace {

using codec::Json;
using codec::JsonFields;

/// What the certificate speaks of, as far as files tell it.
Result<plan::Plan> certified_plan(const plan::PlanReader& plan,
                                  const plan::PlanPipeline& pipeline) {
  const JsonFields root(plan.document(), plan::plan_document_name());
  OMNIBAL_ASSIGN(const Caps caps, caps_of(plan));
  plan::Plan certified;
  OMNIBAL_ASSIGN(certified.memory_bytes, root.integer("memory_bytes", 0, INT64_MAX));
  certified.cluster = pipeline.cluster;
  certified.sizes = pipeline.sizes;
  certified.data.loads.assign(plan.pack_loads().begin(), plan.pack_loads().end());
  certified.data.steps = *plan.steps();
  certified.data_options.limits.vision_cap = caps.vision_units;
  certified.data_options.limits.token_cap = caps.tokens;
  certified.micro_batches = plan.steps()->micro_batches;
  certified.schedule = pipeline.schedule.kind;
  certified.chunks = static_cast<std::int32_t>(pipeline.schedule.stage_rank.size() /
                                               pipeline.schedule.ranks.size());
  certified.profile = *plan.profile();
  certified.cuts = pipeline.cuts;
  certified.recompute = pipeline.recompute;
  certified.choices = pipeline.choices;
  certified.free_links = pipeline.steps.links.empty();
  return certified;
}

/// Another version may find another bound, and judge by other steps.
Result<bool> is_of_this_version(const JsonFields& root) {
  OMNIBAL_ASSIGN(const Json* provenance, root.object("provenance"));
  OMNIBAL_ASSIGN(const std::string tool,
                 JsonFields(*provenance, plan::plan_document_name(), "provenance").text("tool"));
  return tool == fmt::format("omnibal {}", version());
}

/// A move per cut of the plan, and the gap between the two figures.
Status check_shape(const plan::PlanPipeline& pipeline, const Json& certificate) {
  OMNIBAL_ASSIGN(const Json* cuts,
                 JsonFields(certificate, plan::plan_document_name(), "certificate").array("cuts"));
  if (cuts->size() != pipeline.cuts.size()) {
    return violation("certificate.cuts has {} entries, partition.cuts {}", cuts->size(),
                     pipeline.cuts.size());
  }
  for (std::size_t c = 0; c < cuts->size(); ++c) {
    const std::string place = fmt::format("certificate.cuts[{}]", c);
    OMNIBAL_ASSIGN(
        const std::int64_t cut,
        JsonFields((*cuts)[c], plan::plan_document_name(), place).integer("cut", 1, INT32_MAX));
    if (cut == pipeline.cuts[c].value()) continue;
    return violation("{} is of layer {}, partition.cuts[{}] is {}", place, cut, c,
                     pipeline.cuts[c].value());
  }
  return {};
}

}  // namespace

Finding check_certificate(const plan::PlanReader& plan, const plan::PlanPipeline& pipeline) {
  const JsonFields root(plan.document(), plan::plan_document_name());
  OMNIBAL_ASSIGN(const Json* certificate, root.object("certificate"));
  OMNIBAL_ASSIGN(const bool of_this_version, is_of_this_version(root));
  OMNIBAL_ASSIGN(const plan::Plan certified, certified_plan(plan, pipeline));
  OMNIBAL_ASSIGN(const plan::PlanCertificate found, plan::certify(certified));
  OMNIBAL_RETURN_IF_ERROR(agree(*certificate, "bottleneck_s", found.bottleneck_s));
  OMNIBAL_RETURN_IF_ERROR(check_gap(*certificate, found.bottleneck_s));
  if (!of_this_version) return std::string("certificate of another version: its gap alone");
  OMNIBAL_RETURN_IF_ERROR(check_shape(pipeline, *certificate));
  OMNIBAL_RETURN_IF_ERROR(agree_all(*certificate, to_json(found), "certificate"));
  return std::string("certificate recomputed");
}

}  // namespace omnibal::verify
