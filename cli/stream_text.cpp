// SPDX-License-Identifier: Apache-2.0
#include "cli/stream_text.h"

#include <fmt/format.h>

#include "cli/text_table.h"
#include "omnibal/base/quantity.h"

namespace omnibal::cli {
namespace {

using codec::Json;

std::string whole(const Json& number) { return fmt::format("{}", number.get<std::int64_t>()); }

std::string rejections_text(const plan::StreamSession& session) {
  std::string text;
  for (const plan::RejectedKind& kind : session.rejected()) {
    const std::string why = kind.reason == "zero_tokens"
                                ? "no tokens"
                                : fmt::format("{} {} > {}", kind.reason, kind.value, kind.limit);
    text += fmt::format("  {} rejected: {} ({}{} row {})\n", kind.count, why,
                        kind.count > 1 ? "first: " : "", kind.file, kind.row);
  }
  return text;
}

std::string packs_table(const Json& keys) {
  return text_table(
      {{"method", "packs", "vision fill", "token fill", "padding", "over a cap",
        "most samples held", "most packs held"},
       {keys["method"].get<std::string>(), whole(keys["packs"]),
        fmt::format("{:.3f}", keys["fill"]["vision"].get<double>()),
        fmt::format("{:.3f}", keys["fill"]["tokens"].get<double>()),
        fmt::format("{:.3f}", keys["pad_ratio"].get<double>()), whole(keys["over_cap"]),
        whole(keys["peak"]["samples"]), whole(keys["peak"]["packs"])}});
}

std::string steps_text(const Json& steps) {
  std::string text = fmt::format("\n{} of {} on {}, {:.1f} +- {:.1f} samples a step\n",
                                 counted(steps["count"].get<std::int64_t>(), "step"),
                                 counted(steps["micro_batches"].get<std::int64_t>(), "micro-batch"),
                                 counted(steps["dp"].get<std::int64_t>(), "rank"),
                                 steps["samples_per_step"]["mean"].get<double>(),
                                 steps["samples_per_step"]["std"].get<double>());
  const auto add = [&](const char* key, const char* what) {
    const auto count = steps[key].get<std::int64_t>();
    if (count > 0) text += fmt::format("  {} {}\n", count, what);
  };
  add("zero_weight_packs", "zero-weight packs end the last step");
  add("dropped_packs", "packs left out");
  add("repeated_packs", "packs run again");
  const Json& dist = steps["dist_ratio"];
  return text + fmt::format(
                    "imbalance between ranks: vision {:.4f}, tokens {:.4f}, attention {:.4f}, "
                    "predicted time {:.4f}\n",
                    dist["vision"].get<double>(), dist["tokens"].get<double>(),
                    dist["attention"].get<double>(), dist["time"].get<double>());
}

}  // namespace

std::string to_text(const plan::StreamSession& session) {
  const Json keys = session.planner().summary();
  const Json& limits = keys["limits"];
  std::string text = fmt::format(
      "{} of {} samples placed in packs of at most {} vision units and {} tokens\n",
      keys["placed"].get<std::int64_t>(), keys["samples"].get<std::int64_t>(),
      limits["vision_cap"].get<std::int64_t>(), limits["token_cap"].get<std::int64_t>());
  return text + rejections_text(session) + '\n' + packs_table(keys) + steps_text(keys["steps"]);
}

}  // namespace omnibal::cli
