// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "omnibal/base/name_table.h"
#include "omnibal/plan/model_balance.h"

namespace omnibal::plan {
namespace {

constexpr std::array kPartitionMethods = {
    Named{PartitionMethod::kBmp, "bmp"},
    Named{PartitionMethod::kMinMax, "min-max"},
    Named{PartitionMethod::kLeastVariance, "least-variance"},
    Named{PartitionMethod::kAnchor, "anchor"},
    Named{PartitionMethod::kEvenLayers, "even-layers"},
    Named{PartitionMethod::kEvenParameters, "even-parameters"},
    Named{PartitionMethod::kVisionFirst, "vision-first"}};

constexpr std::array kRecomputeMethods = {Named{RecomputeMethod::kNone, "none"},
                                          Named{RecomputeMethod::kFull, "full"},
                                          Named{RecomputeMethod::kBar, "bar"}};

}  // namespace

std::vector<std::string> partition_methods() { return names_in(kPartitionMethods); }

Result<PartitionMethod> parse_partition_method(std::string_view text) {
  return parse_name(kPartitionMethods, "partition method", "method", text);
}

std::vector<std::string> recompute_methods() { return names_in(kRecomputeMethods); }

Result<RecomputeMethod> parse_recompute_method(std::string_view text) {
  return parse_name(kRecomputeMethods, "way to recompute", "recompute", text);
}

}  // namespace omnibal::plan
