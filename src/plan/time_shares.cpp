// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/time_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace omnibal::plan {
namespace {

struct Part {
  double TimeShares::*share;
  std::string_view name;  // with its verb
};
constexpr std::array kShares = {
    Part{&TimeShares::replicated, "replicated attention heads take"},
    Part{&TimeShares::tensor, "tensor-parallel collectives take"},
    Part{&TimeShares::recompute, "recomputation takes"},
    Part{&TimeShares::idle, "idle time (bubble, imbalance, transfers) takes"},
};

}  // namespace

TimeShares time_shares(const DeviceSeconds& seconds) {
  TimeShares shares{.model = seconds.once / seconds.all,
                    .replicated = (seconds.split - seconds.once) / seconds.all,
                    .tensor = (seconds.busy - seconds.split) / seconds.all,
                    .recompute = seconds.recompute / seconds.all};
  shares.idle =
      std::max(0.0, 1 - shares.model - shares.replicated - shares.tensor - shares.recompute);
  return shares;
}

std::string why_it_wins(const TimeShares& shares) {
  const Part& worst =
      *std::ranges::max_element(kShares, {}, [&](const Part& part) { return shares.*part.share; });
  return fmt::format("{:.1f} % of the time computes the model; {} {:.1f} %", 100 * shares.model,
                     worst.name, 100 * shares.*worst.share);
}

std::string why_it_loses(const SharedDays& loser, const SharedDays& best) {
  const auto more = [&](const Part& part) {
    return loser.gpu_days * loser.shares.*part.share - best.gpu_days * best.shares.*part.share;
  };
  const Part& worst = *std::ranges::max_element(kShares, {}, more);
  return fmt::format("{} {:.1f} % of the time, {:.1f} % in the best", worst.name,
                     100 * loser.shares.*worst.share, 100 * best.shares.*worst.share);
}

codec::Json to_json(const TimeShares& shares) {
  return {{"model", shares.model},
          {"replicated", shares.replicated},
          {"tensor", shares.tensor},
          {"recompute", shares.recompute},
          {"idle", shares.idle}};
}

}  // namespace omnibal::plan
