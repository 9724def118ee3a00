// SPDX-License-Identifier: Apache-2.0
//
// The comparison of layouts: the integrated one is the plan itself, the others agree with
// themselves.
#include <algorithm>

#include "checks.h"
#include "model_claims.h"
#include "omnibal/plan/layout.h"
#include "omnibal/schedule/layout.h"

namespace omnibal::verify {
namespace {

using codec::Json;
using codec::JsonFields;

/// What a layout takes is not below what it is claimed to take at least.
Status check_bounds(const Json& layout, const std::string& place) {
  const JsonFields fields = fields_of(layout, place);
  OMNIBAL_ASSIGN(const double gpu_days, fields.number("gpu_days", 0, 1e15));
  OMNIBAL_ASSIGN(const Json* bound, fields.object("bound"));
  OMNIBAL_ASSIGN(const double least_days, positive(*bound, "gpu_days", place + ".bound"));
  if (least_days > gpu_days * (1 + kRounding)) {
    return violation("{}: {} GPU days are below their bound {}", place, gpu_days, least_days);
  }
  OMNIBAL_ASSIGN(const Json* certificate, fields.object("certificate"));
  const JsonFields certified = fields_of(*certificate, place + ".certificate");
  OMNIBAL_RETURN_IF_ERROR(certified.boolean("proven"));
  OMNIBAL_RETURN_IF_ERROR(certified.array("cuts"));
  OMNIBAL_RETURN_IF_ERROR(positive(*certificate, "step_s", place + ".certificate"));
  OMNIBAL_ASSIGN(const double slowest_s, positive(*certificate, "bottleneck_s", place));
  return check_gap(*certificate, slowest_s);
}

/// Cuts and recomputed layers are some of the model's, in order.
Status check_layers(const Json& layout, std::int64_t num_layers, const std::string& place) {
  const JsonFields fields = fields_of(layout, place);
  for (const auto& [key, first] : {std::pair{"cuts", 1}, std::pair{"recompute", 0}}) {
    OMNIBAL_ASSIGN(const std::vector<std::int64_t> layers,
                   fields.integers(key, first, num_layers - 1));
    if (std::ranges::adjacent_find(layers, std::ranges::greater_equal()) != layers.end()) {
      return violation("{}.{} does not rise", place, key);
    }
  }
  return {};
}

/// A schedule and a place of the tower that there are, and a peak within memory.
Status check_pipeline(const plan::PlanReader& plan, const Json& layout, const std::string& place) {
  const JsonFields fields = fields_of(layout, place);
  OMNIBAL_ASSIGN(const Json* schedule, fields.object("schedule"));
  const JsonFields spec = fields_of(*schedule, place + ".schedule");
  OMNIBAL_ASSIGN(const std::string kind, spec.text("kind"));
  OMNIBAL_RETURN_IF_ERROR(spec.integer("chunks", 1, INT32_MAX));
  if (!schedule::parse_schedule_kind(kind)) {
    return violation("{}: there is no schedule \"{}\"", place, kind);
  }
  OMNIBAL_ASSIGN(const std::int64_t limit,
                 fields_of(plan.document(), "").integer("memory_bytes", 0, INT64_MAX));
  OMNIBAL_RETURN_IF_ERROR(fields.integer("peak_bytes", 0, limit));
  if (!fields.has("vision")) return {};
  OMNIBAL_ASSIGN(const Json* vision, fields.object("vision"));
  const JsonFields tower = fields_of(*vision, place + ".vision");
  OMNIBAL_ASSIGN(const std::string where, tower.text("place"));
  for (const char* size : {"tp", "ranks"}) {
    OMNIBAL_RETURN_IF_ERROR(tower.integer(size, 1, INT32_MAX));
  }
  if (schedule::parse_vision_place(where)) return {};
  return violation("{}: a tower has no place \"{}\"", place, where);
}

/// What the plan's own sections say, in the terms of a layout.
Result<Json> own_layout(const plan::PlanReader& plan, const plan::PlanPipeline& pipeline) {
  const JsonFields root = fields_of(plan.document(), "");
  OMNIBAL_ASSIGN(const Json* prediction, root.object("prediction"));
  OMNIBAL_ASSIGN(const Json* bound, root.object("bound"));
  OMNIBAL_ASSIGN(const Json* certificate, root.object("certificate"));
  const JsonFields predicted = fields_of(*prediction, "prediction");
  OMNIBAL_ASSIGN(const double step_s, predicted.number("step_s", 0, 1e15));
  OMNIBAL_ASSIGN(const std::int64_t peak_bytes, predicted.integer("peak_bytes", 0, INT64_MAX));
  return Json{{"schedule", schedule_of(pipeline)},
              {"cuts", partition::first_layers(pipeline.cuts)},
              {"recompute", recompute::recomputed_layers(pipeline.recompute)},
              {"step_s", step_s},
              {"bound", *bound},
              {"peak_bytes", peak_bytes},
              {"certificate", *certificate}};
}

Result<std::string> layout_name(const Json& layout, const std::string& place) {
  OMNIBAL_ASSIGN(std::string name, fields_of(layout, place).text("layout"));
  for (const plan::Layout known :
       {plan::Layout::kIntegrated, plan::Layout::kColocated, plan::Layout::kDisjoint}) {
    if (name == to_string(known)) return name;
  }
  return violation("{}: there is no layout \"{}\"", place, name);
}

/// Why it is where it stands.
Status check_reason(const Json& layout, const std::string& place) {
  OMNIBAL_ASSIGN(const std::string reason, fields_of(layout, place).text("reason"));
  if (reason.empty()) return violation("{} has no reason", place);
  return {};
}

struct Ranking {
  double fastest_s = 0;
  std::vector<std::string> names;
};

Status check_ranked(const plan::PlanReader& plan, const plan::PlanPipeline& pipeline,
                    const Json& layout, Ranking& ranking) {
  const std::string place = fmt::format("layouts.ranked[{}]", ranking.names.size());
  OMNIBAL_ASSIGN(const std::string name, layout_name(layout, place));
  ranking.names.push_back(name);
  OMNIBAL_ASSIGN(const double step_s, positive(layout, "step_s", place));
  if (step_s < ranking.fastest_s) return violation("layouts.ranked is not in the order of step_s");
  ranking.fastest_s = step_s;
  const double epoch_s = step_s * static_cast<double>(plan.steps()->num_steps);
  const auto gpus = static_cast<double>(pipeline.sizes.gpus());
  OMNIBAL_RETURN_IF_ERROR(agree(layout, "gpu_days", epoch_s * gpus / 86400));
  OMNIBAL_RETURN_IF_ERROR(check_bounds(layout, place));
  OMNIBAL_RETURN_IF_ERROR(
      check_layers(layout, static_cast<std::int64_t>(plan.profile()->layers.size()), place));
  OMNIBAL_RETURN_IF_ERROR(check_pipeline(plan, layout, place));
  OMNIBAL_RETURN_IF_ERROR(check_shares(layout, place));
  OMNIBAL_RETURN_IF_ERROR(check_reason(layout, place));
  if (name != to_string(plan::Layout::kIntegrated)) return {};
  OMNIBAL_ASSIGN(const Json own, own_layout(plan, pipeline));
  return agree_all(layout, own, place);
}

}  // namespace

Status check_layouts(const plan::PlanReader& plan, const plan::PlanPipeline& pipeline,
                     const Json& layouts) {
  const JsonFields fields = fields_of(layouts, "layouts");
  OMNIBAL_ASSIGN(const Json* ranked, fields.array("ranked"));
  OMNIBAL_ASSIGN(const Json* refused, fields.array("refused"));
  OMNIBAL_ASSIGN(const std::string best, fields.text("best"));
  Ranking ranking;
  for (const Json& layout : *ranked) {
    OMNIBAL_RETURN_IF_ERROR(check_ranked(plan, pipeline, layout, ranking));
  }
  if (std::ranges::count(ranking.names, to_string(plan::Layout::kIntegrated)) != 1) {
    return violation("layouts.ranked does not hold the plan's own layout once");
  }
  if (ranking.names.front() != best) {
    return violation("layouts.best is not the first of layouts.ranked");
  }
  for (std::size_t i = 0; i < refused->size(); ++i) {
    const std::string place = fmt::format("layouts.refused[{}]", i);
    OMNIBAL_RETURN_IF_ERROR(layout_name((*refused)[i], place));
    OMNIBAL_RETURN_IF_ERROR(check_reason((*refused)[i], place));
  }
  return {};
}

}  // namespace omnibal::verify
