// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <limits>

#include "checks.h"
#include "omnibal/plan/plan_pipeline.h"
#include "simulated_epoch.h"

namespace omnibal::verify {
namespace {

using codec::Json;
using codec::JsonFields;

constexpr std::array<std::string_view, 5> kRows = {"baseline", "+data", "+model", "+memory",
                                                   "+steps"};

/// What rows are measured against.
struct Epoch {
  double num_steps = 0;
  double gpus = 0;
  double least_gpu_days = 0;  // of whoever runs every pack
  double first_gpu_days = 0;  // of `baseline`
};

struct Row {
  std::string name;
  double step_s = 0;
  double gpu_days = 0;
};

Result<Row> read_row(const Json& json, std::size_t index) {
  constexpr double kLeast = std::numeric_limits<double>::min();  // above 0
  const JsonFields fields(json, document_name(), fmt::format("ablation[{}]", index));
  Row row;
  OMNIBAL_ASSIGN(row.name, fields.text("name"));
  OMNIBAL_ASSIGN(row.step_s, fields.number("step_s", kLeast, 1e12));
  OMNIBAL_ASSIGN(row.gpu_days, fields.number("gpu_days", kLeast, 1e15));
  if (row.name == kRows[index]) return row;
  return violation("ablation[{}] is \"{}\", \"{}\" stands there", index, row.name, kRows[index]);
}

/// The baseline makes micro-batches of its own, so its number of steps is its own too, but whole.
Status check_baseline(const Row& row, const Epoch& epoch) {
  const double steps = row.gpu_days * 86400 / (row.step_s * epoch.gpus);
  if (std::abs(steps - std::round(steps)) <= 1e-6 * steps && std::round(steps) >= 1) return {};
  return violation("baseline: {} GPU days are {} steps of {} s", row.gpu_days, steps, row.step_s);
}

Status check_row(const Json& json, const Row& row, const Epoch& epoch) {
  OMNIBAL_RETURN_IF_ERROR(agree(json, "speedup", epoch.first_gpu_days / row.gpu_days));
  if (row.gpu_days < epoch.least_gpu_days * (1 - 1e-9)) {
    return violation("{} takes {} GPU days, nothing can take less than {}", row.name, row.gpu_days,
                     epoch.least_gpu_days);
  }
  if (row.name == kRows.front()) return check_baseline(row, epoch);
  return agree(json, "gpu_days", row.step_s * epoch.num_steps * epoch.gpus / 86400);
}

/// 0 where packs are dropped: then an epoch is less than all the work.
Result<double> least_gpu_days(const JsonFields& root) {
  OMNIBAL_ASSIGN(const Json* steps, root.object("steps"));
  OMNIBAL_ASSIGN(const std::string tail, JsonFields(*steps, document_name(), "steps").text("tail"));
  if (tail == "drop") return 0.0;
  OMNIBAL_ASSIGN(const Json* bound, root.object("bound"));
  return JsonFields(*bound, document_name(), "bound").number("gpu_days", 0, 1e15);
}

}  // namespace

Finding check_ablation(const plan::PlanReader& plan, const VerifyOptions& options) {
  OMNIBAL_ASSIGN(plan::PlanPipeline pipeline, plan::read_pipeline(plan));
  const JsonFields root(plan.document(), document_name());
  OMNIBAL_ASSIGN(const Json* rows, root.array("ablation"));
  if (rows->size() != kRows.size()) {
    return violation("the ablation has {} rows, {} are needed", rows->size(), kRows.size());
  }
  OMNIBAL_ASSIGN(const Row first, read_row(rows->front(), 0));
  Epoch epoch{.num_steps = static_cast<double>(plan.steps()->num_steps),
              .gpus = static_cast<double>(pipeline.sizes.gpus()),
              .first_gpu_days = first.gpu_days};
  OMNIBAL_ASSIGN(epoch.least_gpu_days, least_gpu_days(root));
  for (std::size_t i = 0; i < rows->size(); ++i) {
    OMNIBAL_ASSIGN(const Row row, read_row((*rows)[i], i));
    OMNIBAL_RETURN_IF_ERROR(check_row((*rows)[i], row, epoch));
  }
  pipeline.steps.links.clear();
  OMNIBAL_ASSIGN(const double step_s, mean_step_seconds(plan, pipeline.steps, options.threads));
  OMNIBAL_RETURN_IF_ERROR(agree(rows->back(), "step_s", step_s));
  return std::string(
      "rows agree with each other and +steps with a simulation; the step times of the other rows "
      "are taken as given");
}

}  // namespace omnibal::verify
