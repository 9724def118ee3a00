// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "omnibal/base/name_table.h"
#include "omnibal/plan/layout.h"

namespace omnibal::plan {
namespace {

using codec::Json;

constexpr std::array kLayouts = {Named{Layout::kIntegrated, "integrated"},
                                 Named{Layout::kColocated, "colocated"},
                                 Named{Layout::kDisjoint, "disjoint"}};

Json layout_json(const LayoutPrediction& prediction) {
  Json json = {{"layout", to_string(prediction.layout)}};
  if (prediction.tower) {
    const SpreadTower& tower = *prediction.tower;
    json["vision"] = {
        {"place", schedule::to_string(tower.place)}, {"tp", tower.tp}, {"ranks", tower.ranks}};
  }
  json["schedule"] = to_json(prediction.schedule);
  json["cuts"] = partition::first_layers(prediction.cuts);
  json["recompute"] = recompute::recomputed_layers(prediction.recompute);
  json["step_s"] = prediction.step_s;
  json["gpu_days"] = prediction.gpu_days;
  json["bound"] = {{"gpu_days", prediction.bound_gpu_days}};
  json["peak_bytes"] = prediction.peak_bytes;
  json["shares"] = to_json(prediction.shares);
  json["certificate"] = to_json(prediction.certificate);
  json["reason"] = prediction.reason;
  return json;
}

}  // namespace

std::string_view to_string(Layout layout) { return name_in(kLayouts, layout); }

codec::Json to_json(const LayoutComparison& comparison) {
  Json json = {{"best", to_string(comparison.ranked.front().layout)},
               {"ranked", Json::array()},
               {"refused", Json::array()}};
  for (const LayoutPrediction& prediction : comparison.ranked) {
    json["ranked"].push_back(layout_json(prediction));
  }
  for (const RefusedLayout& refused : comparison.refused) {
    json["refused"].push_back({{"layout", to_string(refused.layout)}, {"reason", refused.reason}});
  }
  return json;
}

}  // namespace omnibal::plan
