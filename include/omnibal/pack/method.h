// SPDX-License-Identifier: Apache-2.0
//
// The packing methods by name, and one call for all of them.
//
//   OMNIBAL_ASSIGN(const Method method, parse_method("isf"));
//   const Grouping grouping = group_samples(method, samples, accepted, request, progress);
//   grouping.loads(samples);    // padded or packed, as the method computes
//
// Not for checking limits: `accepted` comes from admit() (packs.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "omnibal/base/progress.h"
#include "omnibal/metrics/loads.h"
#include "omnibal/pack/auto.h"
#include "omnibal/pack/baselines.h"
#include "omnibal/pack/packs.h"

namespace omnibal::pack {

enum class Method {
  kIsf,
  kBestFit,
  kFirstFit,
  kPatterns,
  kAuto,
  kRandom,
  kSorted,
  kLengthGrouped,
  kDeviceGroup
};

/// "isf", "best-fit", "first-fit", "patterns", "auto"; "random", "sorted", "length-grouped",
/// "device-group".
std::string_view to_string(Method method);
std::vector<std::string> method_names();
/// Those of the packers alone.
std::vector<std::string> packer_names();
/// Error: kInvalidArgument, naming the methods there are.
Result<Method> parse_method(std::string_view name);
/// The packers, which know caps; the others pad micro-batches of a fixed number of samples.
bool respects_caps(Method method);

/// What a method is asked for; each uses the part that concerns it.
struct GroupingRequest {
  PackLimits limits = {};                // the packers
  MicroBatchOptions micro_batches = {};  // the padded baselines
  std::uint64_t seed = 0;                // all
  AutoOptions automatic = {};            // auto
};

/// What came out, whichever method it was.
struct Grouping {
  Packs packs;
  bool padded = false;             // every sample costs as much as the longest of its pack
  std::vector<std::int64_t> grid;  // [rows, dp] where the method itself deals to ranks, else empty

  std::vector<metrics::PackLoad> loads(const metrics::SampleColumns& samples) const;
  /// `loads` as loads() gives them.
  double pad_ratio(const metrics::SampleColumns& samples, std::span<const metrics::PackLoad> loads,
                   std::int64_t token_multiple) const;
};

Grouping group_samples(Method method, const metrics::SampleColumns& samples,
                       std::span<const std::uint32_t> accepted, const GroupingRequest& request,
                       const Progress& progress = {});

}  // namespace omnibal::pack
