// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/cursor.h"

#include <fmt/format.h>

#include <limits>

#include "omnibal/codec/hash.h"
#include "omnibal/cost/linear_cost_json.h"
#include "omnibal/steps/row_order.h"

namespace omnibal::plan {
namespace {

using codec::Json;
using codec::JsonFields;

constexpr std::int64_t kMostSteps = std::numeric_limits<std::int32_t>::max();

std::string hash_text(const std::string& text) {
  return codec::hash_bytes(std::as_bytes(std::span(text)));
}

Result<steps::StepPosition> read_position(const JsonFields& fields) {
  steps::StepPosition at;
  OMNIBAL_ASSIGN(at.epoch, fields.integer("epoch", 0, kMostSteps));
  OMNIBAL_ASSIGN(at.step, fields.integer("step", 0, kMostSteps));
  return at;
}

Result<steps::RankSizes> read_sizes(const JsonFields& fields) {
  steps::RankSizes sizes;
  OMNIBAL_ASSIGN(sizes.dp, fields.integer("dp", 1, steps::kLargestStep));
  OMNIBAL_ASSIGN(sizes.micro_batches, fields.integer("micro_batches", 1, steps::kLargestStep));
  return sizes;
}

Result<PlanIdentity> read_identity(const JsonFields& root, const std::string& origin) {
  OMNIBAL_ASSIGN(const Json* json, root.object("plan"));
  const JsonFields fields(*json, origin, "plan");
  OMNIBAL_RETURN_IF_ERROR(fields.only({"hash", "inputs", "options"}));
  PlanIdentity identity;
  OMNIBAL_ASSIGN(identity.hash, fields.text("hash"));
  OMNIBAL_ASSIGN(identity.inputs, fields.text("inputs"));
  OMNIBAL_ASSIGN(identity.options, fields.text("options"));
  return identity;
}

Result<std::vector<steps::SizeChange>> read_changes(const JsonFields& root,
                                                    const std::string& origin) {
  OMNIBAL_ASSIGN(const Json* json, root.array("changes"));
  std::vector<steps::SizeChange> changes;
  for (std::size_t c = 0; c < json->size(); ++c) {
    const std::string path = fmt::format("changes[{}]", c);
    if (!(*json)[c].is_object()) {
      return Error(ErrorCode::kWrongType, fmt::format("{} is not an object", path))
          .in_file(origin)
          .at_key(path);
    }
    const JsonFields fields((*json)[c], origin, path);
    OMNIBAL_RETURN_IF_ERROR(fields.only({"epoch", "step", "dp", "micro_batches"}));
    OMNIBAL_ASSIGN(const steps::StepPosition at, read_position(fields));
    OMNIBAL_ASSIGN(const steps::RankSizes sizes, read_sizes(fields));
    changes.push_back({at, sizes});
  }
  return changes;
}

Result<cost::LinearCost> read_forward(const JsonFields& steps) {
  OMNIBAL_ASSIGN(const Json* json, steps.object("forward_s"));
  const JsonFields fields(*json, plan_document_name(), "steps.forward_s");
  constexpr double kLargest = 1e9;
  return cost::read_linear_cost(fields, kLargest);
}

/// The seed as it was written: any 64 bits.
Result<std::uint64_t> read_seed(const Json& provenance) {
  const auto seed = provenance.find("seed");
  if (seed != provenance.end() && seed->is_number_unsigned()) return seed->get<std::uint64_t>();
  return Error(ErrorCode::kWrongType, "the seed is not a whole number from 0")
      .in_file(plan_document_name())
      .at_key("provenance.seed");
}

}  // namespace

Result<PlanIdentity> identify(const PlanReader& plan, const std::string& directory) {
  PlanIdentity identity;
  OMNIBAL_ASSIGN(identity.hash, codec::hash_file(fmt::format("{}/{}", directory, kChecksums)));
  OMNIBAL_ASSIGN(const Json* provenance,
                 JsonFields(plan.document(), plan_document_name()).object("provenance"));
  const JsonFields fields(*provenance, plan_document_name(), "provenance");
  std::string inputs;
  for (const char* key : {"inputs", "configuration"}) {
    OMNIBAL_ASSIGN(const Json* files, fields.array(key));
    for (const Json& file : *files) {
      OMNIBAL_ASSIGN(const std::string hash,
                     JsonFields(file, plan_document_name(), "provenance").text("hash"));
      inputs += hash + "\n";
    }
  }
  identity.inputs = hash_text(inputs);
  OMNIBAL_ASSIGN(const Json* options, fields.object("options"));
  OMNIBAL_ASSIGN(const std::uint64_t seed, read_seed(*provenance));
  identity.options = hash_text(fmt::format("{} {}", seed, options->dump()));
  return identity;
}

Json to_json(const PlanCursor& cursor) {
  Json changes = Json::array();
  for (const steps::SizeChange& change : cursor.at.changes) {
    changes.push_back({{"epoch", change.at.epoch},
                       {"step", change.at.step},
                       {"dp", change.sizes.dp},
                       {"micro_batches", change.sizes.micro_batches}});
  }
  return {{"format", kCursorFormat},
          {"version", kCursorVersion},
          {"plan",
           {{"hash", cursor.plan.hash},
            {"inputs", cursor.plan.inputs},
            {"options", cursor.plan.options}}},
          {"epoch", cursor.at.at.epoch},
          {"step", cursor.at.at.step},
          {"dp", cursor.at.ranks.dp},
          {"micro_batches", cursor.at.ranks.micro_batches},
          {"changes", changes}};
}

Result<PlanCursor> parse_cursor(const Json& document, const std::string& origin) {
  OMNIBAL_RETURN_IF_ERROR(codec::check_format(document, origin, kCursorFormat, kCursorVersion));
  const JsonFields fields(document, origin);
  OMNIBAL_RETURN_IF_ERROR(fields.only(
      {"format", "version", "plan", "epoch", "step", "dp", "micro_batches", "changes"}));
  PlanCursor cursor;
  OMNIBAL_ASSIGN(cursor.plan, read_identity(fields, origin));
  OMNIBAL_ASSIGN(cursor.at.at, read_position(fields));
  OMNIBAL_ASSIGN(cursor.at.ranks, read_sizes(fields));
  OMNIBAL_ASSIGN(cursor.at.changes, read_changes(fields, origin));
  return cursor;
}

Result<PlanCursor> read_cursor(const std::string& path) {
  OMNIBAL_ASSIGN(const Json document, codec::read_json(path));
  return parse_cursor(document, path);
}

Status write_cursor(const PlanCursor& cursor, const std::string& path) {
  return codec::write_json(path, to_json(cursor));
}

Status check_is_of(const PlanCursor& cursor, const PlanIdentity& plan, const std::string& origin) {
  if (cursor.plan.hash == plan.hash) return {};
  const char* why = "of other content";
  if (cursor.plan.options != plan.options) why = "made with other options";
  if (cursor.plan.inputs != plan.inputs) why = "of other samples";
  return Error(ErrorCode::kStalePlan, fmt::format("the cursor belongs to a plan {}", why))
      .in_file(origin)
      .at_key("plan.hash")
      .with_value(cursor.plan.hash)
      .with_limit(plan.hash)
      .with_hint(
          "go on with the plan that the run began with, or begin the new plan without a cursor");
}

Result<steps::StepSource> step_source(const PlanReader& plan) {
  if (plan.steps() == nullptr) {
    return Error(ErrorCode::kInvalidPlan, "the plan has no steps")
        .in_file(plan_document_name())
        .at_key("steps")
        .with_hint("make it with `omnibal pack --dp N`");
  }
  const JsonFields root(plan.document(), plan_document_name());
  OMNIBAL_ASSIGN(const Json* json, root.object("steps"));
  const JsonFields fields(*json, plan_document_name(), "steps");
  OMNIBAL_ASSIGN(const Json* provenance, root.object("provenance"));
  steps::StepSource source{.table = plan.steps(), .loads = plan.pack_loads(), .options = {}};
  OMNIBAL_ASSIGN(source.options.window, fields.integer("window", 0, kMostSteps));
  OMNIBAL_ASSIGN(const std::string tail, fields.text("tail"));
  OMNIBAL_ASSIGN(source.options.tail, steps::parse_tail(tail));
  OMNIBAL_ASSIGN(source.options.seed, read_seed(*provenance));
  OMNIBAL_ASSIGN(source.options.forward, read_forward(fields));
  OMNIBAL_ASSIGN(const std::string order, fields.text_or("row_order", "as-dealt"));
  OMNIBAL_ASSIGN(source.options.row_order, steps::parse_row_order(order));
  return source;
}

}  // namespace omnibal::plan
