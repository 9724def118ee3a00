// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/plan_diff.h"

#include <array>
#include <string_view>

namespace omnibal::plan {
namespace {

using codec::Json;

/// Members that are compared; of an object all of its own.
constexpr std::array kCompared = {"model",
                                  "cluster.name",
                                  "samples",
                                  "rejected",
                                  "method",
                                  "limits",
                                  "packs",
                                  "parallel",
                                  "layout",
                                  "schedule",
                                  "partition.cuts",
                                  "recompute",
                                  "recompute_choice",
                                  "memory_bytes",
                                  "links",
                                  "update",
                                  "steps.count",
                                  "steps.micro_batches",
                                  "steps.dist_ratio",
                                  "steps.tail",
                                  "steps.row_order",
                                  "prediction",
                                  "bound",
                                  "certificate.gap",
                                  "zero3.planned"};

/// Null where there is none.
const Json& at_key(const Json& document, std::string_view key) {
  static const Json none;
  const Json* found = &document;
  while (!key.empty()) {
    const std::size_t dot = key.find('.');
    const std::string name(key.substr(0, dot));
    if (!found->is_object() || !found->contains(name)) return none;
    found = &(*found)[name];
    key = dot == std::string_view::npos ? std::string_view() : key.substr(dot + 1);
  }
  return *found;
}

std::optional<double> ratio_of(const Json& other, const Json& now) {
  if (!other.is_number() || !now.is_number() || other.get<double>() == 0) return std::nullopt;
  return now.get<double>() / other.get<double>();
}

void add_changes(const std::string& key, const Json& other, const Json& now,
                 std::vector<PlanChange>& changes) {
  if (!now.is_object() && !other.is_object()) {
    if (other != now) changes.push_back({key, other, now, ratio_of(other, now)});
    return;
  }
  Json names = other.is_object() ? other : Json::object();  // in the order of the files
  if (now.is_object()) names.update(now);
  for (const auto& [name, value] : names.items()) {
    add_changes(key + '.' + name, at_key(other, name), at_key(now, name), changes);
  }
}

}  // namespace

std::vector<PlanChange> plan_changes(const codec::Json& other, const codec::Json& now) {
  std::vector<PlanChange> changes;
  for (const std::string_view key : kCompared) {
    add_changes(std::string(key), at_key(other, key), at_key(now, key), changes);
  }
  return changes;
}

codec::Json to_json(const std::vector<PlanChange>& changes) {
  Json json = Json::array();
  for (const PlanChange& change : changes) {
    Json one = {{"key", change.key}, {"other", change.other}, {"now", change.now}};
    if (change.ratio) one["ratio"] = *change.ratio;
    json.push_back(std::move(one));
  }
  return json;
}

}  // namespace omnibal::plan
