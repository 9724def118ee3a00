// SPDX-License-Identifier: Apache-2.0
#include "omnibal/pack/method.h"

#include <array>
#include <utility>

#include "omnibal/base/name_table.h"
#include "omnibal/metrics/balance.h"
#include "omnibal/pack/best_fit.h"
#include "omnibal/pack/first_fit.h"
#include "omnibal/pack/isf.h"
#include "omnibal/pack/patterns.h"

namespace omnibal::pack {
namespace {

constexpr std::array kMethods = {
    Named{Method::kIsf, "isf"},
    Named{Method::kBestFit, "best-fit"},
    Named{Method::kFirstFit, "first-fit"},
    Named{Method::kPatterns, "patterns"},
    Named{Method::kAuto, "auto"},
    Named{Method::kRandom, "random"},
    Named{Method::kSorted, "sorted"},
    Named{Method::kLengthGrouped, "length-grouped"},
    Named{Method::kDeviceGroup, "device-group"},
};

Packs packer(Method method, const metrics::SampleColumns& samples,
             std::span<const std::uint32_t> accepted, const GroupingRequest& request,
             const Progress& progress) {
  switch (method) {
    case Method::kBestFit:
      return pack_best_fit(samples, accepted, request.limits, request.seed);
    case Method::kFirstFit:
      return pack_first_fit(samples, accepted, request.limits, request.seed);
    case Method::kPatterns:
      return pack_patterns(samples, accepted, request.limits, request.seed);
    case Method::kAuto:
      return pack_auto(samples, accepted, request.limits, request.seed, request.automatic,
                       progress);
    case Method::kIsf:
    case Method::kRandom:
    case Method::kSorted:
    case Method::kLengthGrouped:
    case Method::kDeviceGroup:
      break;
  }
  return pack_isf(samples, accepted, request.limits, request.seed, progress);
}

MicroBatches baseline(Method method, const metrics::SampleColumns& samples,
                      std::span<const std::uint32_t> accepted, const MicroBatchOptions& options) {
  switch (method) {
    case Method::kSorted:
      return sorted_micro_batches(samples, accepted, options);
    case Method::kLengthGrouped:
      return length_grouped_micro_batches(samples, accepted, options);
    case Method::kDeviceGroup:
      return device_group_micro_batches(samples, accepted, options);
    case Method::kRandom:
    case Method::kIsf:
    case Method::kBestFit:
    case Method::kFirstFit:
    case Method::kPatterns:
    case Method::kAuto:
      break;
  }
  return random_micro_batches(samples, accepted, options);
}

}  // namespace

std::string_view to_string(Method method) { return name_in(kMethods, method); }

std::vector<std::string> method_names() { return names_in(kMethods); }

std::vector<std::string> packer_names() {
  std::vector<std::string> names;
  for (const auto& method : kMethods) {
    if (respects_caps(method.value)) names.emplace_back(method.name);
  }
  return names;
}

Result<Method> parse_method(std::string_view name) {
  return parse_name(kMethods, "packing method", "method", name);
}

bool respects_caps(Method method) {
  switch (method) {
    case Method::kRandom:
    case Method::kSorted:
    case Method::kLengthGrouped:
    case Method::kDeviceGroup:
      return false;
    case Method::kIsf:
    case Method::kBestFit:
    case Method::kFirstFit:
    case Method::kPatterns:
    case Method::kAuto:
      break;
  }
  return true;
}

std::vector<metrics::PackLoad> Grouping::loads(const metrics::SampleColumns& samples) const {
  return padded ? metrics::padded_loads(packs.view(), samples)
                : metrics::packed_loads(packs.view(), samples);
}

double Grouping::pad_ratio(const metrics::SampleColumns& samples,
                           std::span<const metrics::PackLoad> loads,
                           std::int64_t token_multiple) const {
  return padded ? metrics::padded_pad_ratio(packs.view(), samples.tokens)
                : metrics::packed_pad_ratio(loads, token_multiple);
}

Grouping group_samples(Method method, const metrics::SampleColumns& samples,
                       std::span<const std::uint32_t> accepted, const GroupingRequest& request,
                       const Progress& progress) {
  if (respects_caps(method)) {
    return {packer(method, samples, accepted, request, progress), false, {}};
  }
  MicroBatchOptions options = request.micro_batches;
  options.seed = request.seed;
  MicroBatches result = baseline(method, samples, accepted, options);
  return {std::move(result.groups), true, std::move(result.grid)};
}

}  // namespace omnibal::pack
