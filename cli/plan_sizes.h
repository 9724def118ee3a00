// SPDX-License-Identifier: Apache-2.0
//
// The sizes of a plan: flags, what follows from those that are given, and the search of the others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "omnibal/base/result.h"
#include "omnibal/plan/size_search.h"

namespace omnibal::cli {

struct SizeFlags {
  std::optional<std::int64_t> gpus, tp, pp, dp;
  std::optional<double> hours;
};

/// --gpus, --hours, --tp, --pp, --dp.
std::vector<Flag> size_flags(SizeFlags& flags);

/// What can be refused before the input is read: kInvalidArgument.
Status check_flags(const SizeFlags& flags);

/// Whether sizes are to be searched: fewer than two are given, or the number of devices is open.
bool sizes_are_open(const SizeFlags& flags);

/// Sizes as given; one that is absent follows from the others and the number of GPUs. Error:
/// kSizesDoNotDivide.
Result<cluster::ParallelSizes> sizes_of(const SizeFlags& flags,
                                        const cluster::ClusterSpec& cluster);

/// Sizes of the search: as given where they are open, else `sizes`, which follow from the flags.
plan::SizeQuestion asked_of(const SizeFlags& flags, const cluster::ParallelSizes& sizes);

/// What the search looked at: one number of devices, or with --hours several, ascending.
struct SizeSearch {
  std::vector<plan::SizeChoice> looked_at;
  std::optional<double> hours;

  /// The fewest devices that keep to the hours.
  const plan::SizeChoice& chosen() const;
};
Result<SizeSearch> search_sizes(const plan::SizeTask& task, const std::optional<double>& hours,
                                const Context& context);

codec::Json to_json(const SizeSearch& search);
/// A line a candidate: sizes, schedule, caps, GPU days, why it wins or loses.
std::string to_text(const SizeSearch& search);

}  // namespace omnibal::cli
