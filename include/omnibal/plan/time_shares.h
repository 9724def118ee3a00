// SPDX-License-Identifier: Apache-2.0
//
// Where the devices' time goes, and so why one way to train wins over another.
//
//   const TimeShares shares = time_shares({.all = 64 * step_s, .once = ..., ...});
//   why_it_wins(shares);                   // "94.9 % of the time computes the model; ..."
//   why_it_loses({shares, 19.1}, {best, 16.6});
//
// Not the breakdown of one simulated step: simulate/step_report.h.
#pragma once

#include <string>

#include "omnibal/codec/json.h"

namespace omnibal::plan {

/// As fractions of all of it.
struct TimeShares {
  double model = 0;       // forward and backward, each once
  double replicated = 0;  // attention heads that tensor parallelism cannot split
  double tensor = 0;      // collectives of tensor parallelism beyond tp 2
  double recompute = 0;
  double idle = 0;  // bubble, imbalance, transfers
};

/// Device-seconds of the same work.
struct DeviceSeconds {
  double all = 0;    // that it takes, on all devices
  double once = 0;   // forward and backward on one device alone
  double split = 0;  // on all tensor-parallel devices without their collectives
  double busy = 0;   // with them
  double recompute = 0;
};
TimeShares time_shares(const DeviceSeconds& seconds);

/// Shares of a run and the device-days that it takes.
struct SharedDays {
  const TimeShares& shares;
  double gpu_days = 0;
};
/// What computes, and the largest part that does not.
std::string why_it_wins(const TimeShares& shares);
/// The part in which it takes most device-days more than the best.
std::string why_it_loses(const SharedDays& loser, const SharedDays& best);

codec::Json to_json(const TimeShares& shares);

}  // namespace omnibal::plan
