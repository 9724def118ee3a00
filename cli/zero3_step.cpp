// SPDX-License-Identifier: Apache-2.0
#include "cli/zero3_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/step_text.h"
#include "cli/text_table.h"
#include "omnibal/base/quantity.h"
#include "omnibal/simulate/zero3.h"

namespace omnibal::cli {
namespace {

Status check_flags(const SimulateFlags& flags) {
  OMNIBAL_RETURN_IF_ERROR(refuse_flags({{"--step", flags.step.has_value()},
                                        {"--cuts", flags.cuts.has_value()},
                                        {"--schedule", flags.schedule.has_value()},
                                        {"--chunks", flags.chunks.has_value()},
                                        {"--pp", flags.pp.has_value()},
                                        {"--vision", flags.vision.has_value()},
                                        {"--vision-ranks", flags.vision_ranks.has_value()},
                                        {"--recompute-choice", !flags.recompute_choice.empty()},
                                        {"--trace", flags.trace.has_value()}},
                                       "--zero3, which has no pipeline"));
  if (!flags.profile) {
    return Error(ErrorCode::kInvalidArgument, "--zero3 simulates a profile")
        .at_key("--profile")
        .with_hint("name one: omnibal profile --model M --cluster C --out profile.json makes it");
  }
  if (flags.cluster || flags.update.value_or("none") == "none") return {};
  return no_cluster_for_update();
}

/// Every rank is simulated and listed by itself.
Status check_size(std::int64_t num_ranks, std::size_t micro_batches, std::size_t num_layers) {
  constexpr std::int64_t kMostRuns = std::int64_t{1} << 26;
  const auto of_a_rank = static_cast<std::int64_t>(micro_batches * num_layers);
  if (of_a_rank <= kMostRuns / num_ranks) return {};
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("{} of {} and {} are more than can be simulated at once",
                           counted(num_ranks, "rank"),
                           counted(static_cast<std::int64_t>(micro_batches), "micro-batch"),
                           counted(static_cast<std::int64_t>(num_layers), "layer")))
      .at_key("--micro-batches")
      .with_value(static_cast<std::int64_t>(micro_batches))
      .with_limit(kMostRuns / num_ranks / static_cast<std::int64_t>(num_layers));
}

codec::Json step_json(const simulate::Zero3Step& step, double idle) {
  codec::Json json = {{"schedule", {{"kind", "zero3"}, {"chunks", 1}}},
                      {"makespan_s", step.makespan_s},
                      {"bubble_fraction", idle},
                      {"breakdown", to_json(step.breakdown)},
                      {"optimizer_s", step.optimizer_s},
                      {"ranks", codec::Json::array()}};
  for (std::size_t rank = 0; rank < step.ranks.size(); ++rank) {
    json["ranks"].push_back({{"dp_rank", rank},
                             {"busy_s", step.ranks[rank].busy_s},
                             {"idle_s", step.ranks[rank].idle_s},
                             {"peak_bytes", step.peak_bytes[rank]}});
  }
  return json;
}

Output output_of(const simulate::Zero3Step& step) {
  const double device_seconds = step.makespan_s * static_cast<double>(step.ranks.size());
  double idle_s = 0;
  for (const simulate::RankUse& rank : step.ranks) idle_s += rank.idle_s;
  const double idle = device_seconds > 0 ? std::max(0.0, idle_s / device_seconds) : 0;
  std::string text = fmt::format(
      "step {} on {} of ZeRO-3, idle {:.1f} % of all device time; fullest rank {}\n\n{}",
      format_seconds(step.makespan_s),
      counted(static_cast<std::int64_t>(step.ranks.size()), "rank"), 100 * idle,
      format_bytes(std::ranges::max(step.peak_bytes)),
      to_text(BreakdownTable{step.breakdown, device_seconds, step.optimizer_s}));
  return Output{step_json(step, idle), std::move(text), 0};
}

}  // namespace

Result<Output> simulate_zero3_step(const SimulateFlags& flags) {
  OMNIBAL_RETURN_IF_ERROR(check_flags(flags));
  OMNIBAL_ASSIGN(const cost::Profile profile, cost::read_profile(*flags.profile));
  OMNIBAL_ASSIGN(const std::vector<cost::Load> loads, loads_of_flags(flags, profile));
  OMNIBAL_ASSIGN(const recompute::RecomputeMask recompute, recomputed_of_flags(flags, profile));
  std::optional<cluster::ClusterSpec> cluster;
  if (flags.cluster) {
    OMNIBAL_ASSIGN(cluster, cluster::load_cluster(*flags.cluster));
  }
  const simulate::Zero3Case zero3{.profile = profile,
                                  .recompute = recompute,
                                  .num_ranks = flags.dp.value_or(1),
                                  .cluster = cluster ? &*cluster : nullptr,
                                  .tp = flags.tp.value_or(1),
                                  .prefetch = static_cast<std::int32_t>(flags.prefetch.value_or(1)),
                                  .update = flags.update.value_or("none") != "none"};
  OMNIBAL_RETURN_IF_ERROR(check_size(zero3.num_ranks, loads.size(), profile.layers.size()));
  const std::vector<std::vector<cost::Load>> of_ranks(static_cast<std::size_t>(zero3.num_ranks),
                                                      loads);
  OMNIBAL_ASSIGN(const simulate::Zero3Step step, simulate::simulate_zero3(zero3, of_ranks));
  return output_of(step);
}

}  // namespace omnibal::cli
