// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "checks.h"
#include "omnibal/plan/plan_pipeline.h"
#include "simulated_epoch.h"

namespace omnibal::verify {
namespace {

using codec::Json;
using codec::JsonFields;

constexpr std::size_t kPaperRows = 4;

/// Names of the rows. Where the plan has other packs than the paper's packer makes with the paper's
/// caps, the first four rows are of those and +packs is of its own; +schedule is there where the
/// plan's schedule is not 1F1B.
std::vector<std::string> row_names(const Json& rows, bool other_schedule) {
  const auto has = [&](const std::string& name) {
    return std::ranges::any_of(rows, [&](const Json& row) {
      return row.is_object() && row.contains("name") && row["name"] == name;
    });
  };
  std::vector<std::string> names = {"baseline", "+data", "+model", "+memory"};
  if (has("+packs")) names.emplace_back("+packs");
  names.emplace_back("+joint");
  if (other_schedule) names.emplace_back("+schedule");
  names.insert(names.end(), {"+steps", "+order"});
  return names;
}

/// What rows are measured against.
struct Epoch {
  bool with_packs = false;
  double num_steps = 0;
  double gpus = 0;
  double least_gpu_days = 0;  // of whoever runs every pack
  double first_gpu_days = 0;  // of `baseline`
};

/// Steps that the baseline may have.
struct StepCounts {
  double fewest = 1;
  double most = std::numeric_limits<double>::max();
};

struct Row {
  std::string name;
  double step_s = 0;
  double gpu_days = 0;
};

Result<Row> read_row(const Json& json, std::size_t index, std::string_view name) {
  constexpr double kLeast = std::numeric_limits<double>::min();  // above 0
  const JsonFields fields(json, plan::plan_document_name(), fmt::format("ablation[{}]", index));
  Row row;
  OMNIBAL_ASSIGN(row.name, fields.text("name"));
  OMNIBAL_ASSIGN(row.step_s, fields.number("step_s", kLeast, 1e12));
  OMNIBAL_ASSIGN(row.gpu_days, fields.number("gpu_days", kLeast, 1e15));
  if (row.name == name) return row;
  return violation("ablation[{}] is \"{}\", \"{}\" stands there", index, row.name, name);
}

/// Every rank cuts its share of the samples into micro-batches of their own, the last of which may
/// hold fewer: up to dp more than without ranks. Nothing is known without the size of one.
Result<StepCounts> baseline_steps(const plan::PlanReader& plan, const JsonFields& root,
                                  bool with_packs) {
  OMNIBAL_ASSIGN(const Json* provenance, root.object("provenance"));
  OMNIBAL_ASSIGN(
      const Json* given,
      JsonFields(*provenance, plan::plan_document_name(), "provenance").object("options"));
  const JsonFields options(*given, plan::plan_document_name(), "provenance.options");
  OMNIBAL_ASSIGN(const std::int64_t size,
                 options.integer_or("micro_batch", 0, 0, steps::kLargestStep));
  OMNIBAL_ASSIGN(const std::int64_t batch,
                 options.integer_or("global_batch", 0, 0, std::int64_t{1} << 30));
  if (size == 0 || (with_packs && batch < size)) return StepCounts{};
  const double step = static_cast<double>(
      with_packs ? batch / size : plan.steps()->micro_batches * plan.steps()->dp);
  const auto batches = [size](std::size_t samples) {
    return std::ceil(static_cast<double>(samples) / static_cast<double>(size));
  };
  const double fewest = batches(plan.pack_samples().size());
  // The paper's packs may hold samples that the plan's caps reject.
  const double most =
      batches(with_packs ? plan.sample_tokens().size() : plan.pack_samples().size()) +
      static_cast<double>(plan.steps()->dp);
  return StepCounts{std::max(1.0, std::floor(fewest / step)), std::ceil(most / step)};
}

double steps_of(const Row& row, double gpus) { return row.gpu_days * 86400 / (row.step_s * gpus); }

/// The paper's rows but the baseline run the same steps, whatever they are.
Status check_same_steps(const std::vector<Row>& rows, double gpus) {
  for (std::size_t i = 2; i < kPaperRows; ++i) {
    const double steps = steps_of(rows[i], gpus);
    if (std::abs(steps - steps_of(rows[1], gpus)) <= 1e-6 * steps) continue;
    return violation("{} and {} are of {} and {} steps", rows[i].name, rows[1].name, steps,
                     steps_of(rows[1], gpus));
  }
  return {};
}

/// The baseline has its own number of steps, but a whole one.
Status check_baseline(const Row& row, double gpus, const StepCounts& counts) {
  const double steps = steps_of(row, gpus);
  const double whole = std::round(steps);
  if (std::abs(steps - whole) <= 1e-6 * steps && whole >= counts.fewest && whole <= counts.most) {
    return {};
  }
  return violation("baseline: {} GPU days are {} steps of {} s, {} to {} are possible",
                   row.gpu_days, steps, row.step_s, counts.fewest, counts.most);
}

Status check_row(const Json& json, const Row& row, std::size_t index, const Epoch& epoch) {
  OMNIBAL_RETURN_IF_ERROR(agree(json, "speedup", epoch.first_gpu_days / row.gpu_days));
  if (row.gpu_days < epoch.least_gpu_days * (1 - 1e-9)) {
    return violation("{} takes {} GPU days, nothing can take less than {}", row.name, row.gpu_days,
                     epoch.least_gpu_days);
  }
  if (index < (epoch.with_packs ? kPaperRows : 1)) return {};
  return agree(json, "gpu_days", row.step_s * epoch.num_steps * epoch.gpus / 86400);
}

/// 0 where packs are dropped: then an epoch is less than all the work.
Result<double> least_gpu_days(const JsonFields& root) {
  OMNIBAL_ASSIGN(const Json* steps, root.object("steps"));
  OMNIBAL_ASSIGN(const std::string tail,
                 JsonFields(*steps, plan::plan_document_name(), "steps").text("tail"));
  if (tail == "drop") return 0.0;
  OMNIBAL_ASSIGN(const Json* bound, root.object("bound"));
  return JsonFields(*bound, plan::plan_document_name(), "bound").number("gpu_days", 0, 1e15);
}

/// Cuts into stages of the model, one a rank before the plan's own schedule comes in.
Result<std::vector<std::int64_t>> cuts_of_row(const Json& row, std::int64_t num_layers,
                                              std::int64_t num_stages, const std::string& place) {
  OMNIBAL_ASSIGN(
      std::vector<std::int64_t> cuts,
      JsonFields(row, plan::plan_document_name(), place).integers("cuts", 1, num_layers - 1));
  if (std::ranges::adjacent_find(cuts, std::ranges::greater_equal()) != cuts.end()) {
    return violation("{}.cuts do not rise", place);
  }
  if (static_cast<std::int64_t>(cuts.size()) == num_stages - 1) return cuts;
  return violation("{}.cuts make {} stages, the row runs {}", place, cuts.size() + 1, num_stages);
}

/// Rows from +schedule on (+joint on, where the plan's schedule is the paper's) have the plan's
/// cuts and need its memory; those before are of a stage a rank, and change them only in +model and
/// +joint.
Status check_cuts(const Json& rows, const plan::PlanPipeline& pipeline, std::int64_t peak_bytes,
                  bool other_schedule) {
  const auto num_layers = static_cast<std::int64_t>(pipeline.profile.layers.size());
  const std::vector<std::int32_t> own = partition::first_layers(pipeline.cuts);
  std::vector<std::int64_t> before;
  bool has_own = false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto name = rows[i].at("name").get<std::string>();
    const std::string place = fmt::format("ablation[{}]", i);
    has_own = has_own || name == (other_schedule ? "+schedule" : "+joint");
    if (has_own) {
      OMNIBAL_RETURN_IF_ERROR(
          agree_all(rows[i], {{"cuts", own}, {"peak_bytes", peak_bytes}}, place));
      continue;
    }
    OMNIBAL_RETURN_IF_ERROR(
        JsonFields(rows[i], plan::plan_document_name(), place).integer("peak_bytes", 0, INT64_MAX));
    OMNIBAL_ASSIGN(std::vector<std::int64_t> cuts,
                   cuts_of_row(rows[i], num_layers, pipeline.sizes.pp, place));
    const bool may_change =
        name == "baseline" || name == "+model" || name == "+joint" || name == "+packs";
    if (!may_change && cuts != before) {
      return violation("{}: {} has other cuts than the row before", place, name);
    }
    before = std::move(cuts);
  }
  return {};
}

}  // namespace

Finding check_ablation(const plan::PlanReader& plan, const VerifyOptions& options) {
  OMNIBAL_ASSIGN(plan::PlanPipeline pipeline, plan::read_pipeline(plan));
  const JsonFields root(plan.document(), plan::plan_document_name());
  OMNIBAL_ASSIGN(const Json* rows, root.array("ablation"));
  const bool other_schedule = pipeline.schedule.kind != schedule::ScheduleKind::kOneFOneB;
  const std::vector<std::string> names = row_names(*rows, other_schedule);
  if (rows->size() != names.size()) {
    return violation("the ablation has {} rows, {} are possible", rows->size(), names.size());
  }
  const bool with_packs = names[kPaperRows] == "+packs";
  Epoch epoch{.with_packs = with_packs,
              .num_steps = static_cast<double>(plan.steps()->num_steps),
              .gpus = static_cast<double>(pipeline.sizes.gpus())};
  OMNIBAL_ASSIGN(epoch.least_gpu_days, least_gpu_days(root));
  std::vector<Row> read;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    OMNIBAL_ASSIGN(Row row, read_row((*rows)[i], i, names[i]));
    read.push_back(std::move(row));
    epoch.first_gpu_days = read.front().gpu_days;
    OMNIBAL_RETURN_IF_ERROR(check_row((*rows)[i], read.back(), i, epoch));
  }
  OMNIBAL_ASSIGN(const StepCounts counts, baseline_steps(plan, root, with_packs));
  OMNIBAL_RETURN_IF_ERROR(check_baseline(read.front(), epoch.gpus, counts));
  OMNIBAL_RETURN_IF_ERROR(check_same_steps(read, epoch.gpus));
  OMNIBAL_ASSIGN(const Json* prediction, root.object("prediction"));
  OMNIBAL_ASSIGN(const std::int64_t peak_bytes,
                 JsonFields(*prediction, plan::plan_document_name(), "prediction")
                     .integer("peak_bytes", 0, INT64_MAX));
  OMNIBAL_RETURN_IF_ERROR(check_cuts(*rows, pipeline, peak_bytes, other_schedule));
  pipeline.steps.links.clear();
  pipeline.steps.end = {};
  const double step_s = mean_step_seconds(plan, pipeline.steps, options.threads);
  OMNIBAL_RETURN_IF_ERROR(agree(rows->back(), "step_s", step_s));
  return std::string(
      "rows agree with each other and +order with a simulation; the step times of the other rows "
      "are taken as given");
}

}  // namespace omnibal::verify
