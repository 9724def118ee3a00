// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>

#include "omnibal/base/name_table.h"
#include "omnibal/plan/model_balance.h"

namespace omnibal::plan {
namespace {

constexpr std::array kPartitionMethods = {
    Named{PartitionMethod::kJoint, "joint"},
    Named{PartitionMethod::kBmp, "bmp"},
    Named{PartitionMethod::kMinMax, "min-max"},
    Named{PartitionMethod::kLeastVariance, "least-variance"},
    Named{PartitionMethod::kAnchor, "anchor"},
    Named{PartitionMethod::kEvenLayers, "even-layers"},
    Named{PartitionMethod::kEvenParameters, "even-parameters"},
    Named{PartitionMethod::kVisionFirst, "vision-first"}};

constexpr std::array kRecomputeMethods = {
    Named{RecomputeMethod::kJoint, "joint"}, Named{RecomputeMethod::kNone, "none"},
    Named{RecomputeMethod::kFull, "full"}, Named{RecomputeMethod::kBar, "bar"}};

constexpr std::array kRestrictions = {Named{joint::Restriction::kMegatron, "megatron"},
                                      Named{joint::Restriction::kUniform, "uniform"}};

}  // namespace

std::vector<std::string> partition_methods() { return names_in(kPartitionMethods); }

Result<PartitionMethod> parse_partition_method(std::string_view text) {
  return parse_name(kPartitionMethods, "partition method", "method", text);
}

std::vector<std::string> recompute_methods() { return names_in(kRecomputeMethods); }

Result<RecomputeMethod> parse_recompute_method(std::string_view text) {
  return parse_name(kRecomputeMethods, "way to recompute", "recompute", text);
}

std::vector<std::string> restrictions() { return names_in(kRestrictions); }

Result<joint::Restriction> parse_restriction(std::string_view text) {
  return parse_name(kRestrictions, "restriction", "restrict", text);
}

Result<LayerIndex> find_layer(const cost::Profile& profile, std::string_view text) {
  std::vector<std::string> names;
  for (const cost::LayerProfile& layer : profile.layers) {
    if (layer.name == text) return LayerIndex{static_cast<std::int32_t>(names.size())};
    names.push_back(layer.name);
  }
  std::int32_t index = -1;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), index);
  const bool is_index = code == std::errc() && end == text.data() + text.size();
  if (is_index && index >= 0 && index < static_cast<std::int32_t>(names.size())) {
    return LayerIndex{index};
  }
  return unknown_name("layer", "layers", text, names);
}

}  // namespace omnibal::plan
