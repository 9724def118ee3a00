// SPDX-License-Identifier: Apache-2.0
#include "cli/data_plan_text.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "cli/mix_text.h"
#include "cli/sample_place.h"
#include "cli/text_table.h"
#include "omnibal/base/quantity.h"

namespace omnibal::cli {
namespace {

using codec::Json;

/// A line a reason: how many samples, and the first of them.
std::string rejections_text(const std::vector<pack::Rejection>& rejected,
                            const corpus::Corpus& corpus) {
  std::map<std::string_view, std::pair<std::int64_t, pack::Rejection>> by_reason;
  for (const pack::Rejection& rejection : rejected) {
    ++by_reason.try_emplace(rejection.reason, 0, rejection).first->second.first;
  }
  std::string text;
  for (const auto& [reason, counted] : by_reason) {
    const auto& [count, first] = counted;
    const std::string why =
        reason == "zero_tokens" ? "no tokens"
        : reason == "supervised"
            ? fmt::format("supervised tokens {} < {}, not to lose all by a cut", first.value,
                          first.limit)
            : fmt::format("{} {} > {}", reason == "media" ? "media tokens" : reason, first.value,
                          first.limit);
    text += fmt::format("  {} rejected: {} ({}{})\n", count, why, count > 1 ? "first: " : "",
                        place_of_sample(first.sample, corpus));
  }
  return text;
}

std::string truncations_text(const std::vector<pack::Truncation>& truncated,
                             const corpus::Corpus& corpus) {
  if (truncated.empty()) return "";
  const pack::Truncation& first = truncated.front();
  return fmt::format("  {} cut to {} tokens (first: {}, from {})\n", truncated.size(), first.to,
                     place_of_sample(first.sample, corpus), first.from);
}

std::string packs_table(const plan::DataPlan& data, const plan::DataPlanOptions& options,
                        const Json& keys) {
  const auto number = [&keys](const char* key) {
    return fmt::format("{}", keys[key].get<std::int64_t>());
  };
  const double samples_in_pack =
      keys["placed"].get<double>() / static_cast<double>(data.grouping.packs.size());
  return text_table(
      {{"method", "packs", "bound", "gap", "samples a pack", "vision fill", "token fill", "padding",
        "over a cap", "seconds"},
       {std::string(pack::to_string(options.method)), number("packs"), number("lower_bound"),
        fmt::format("{:.2f} %", 100 * keys["gap"].get<double>()),
        fmt::format("{:.2f}", samples_in_pack),
        fmt::format("{:.3f}", keys["fill"]["vision"].get<double>()),
        fmt::format("{:.3f}", keys["fill"]["tokens"].get<double>()),
        fmt::format("{:.3f}", keys["pad_ratio"].get<double>()), number("over_cap"),
        fmt::format("{:.2f}", keys["pack_seconds"].get<double>())}});
}

std::string imbalance_text(const metrics::DistRatios& dist) {
  return fmt::format("vision {:.4f}, tokens {:.4f}, attention {:.4f}, predicted time {:.4f}",
                     dist.vision, dist.tokens, dist.attention, dist.time);
}

std::string worst_pack_text(const plan::WorstPack& worst) {
  const std::string place = worst.place ? fmt::format("runs in step {}, micro-batch {}",
                                                      worst.place->step, worst.place->micro_batch)
                                        : "is left out";
  return fmt::format("worst pack: {} ({} vision units, {} tokens, {:.1f} GB of activations) {}\n",
                     worst.pack, worst.load.vision_units, worst.load.tokens,
                     static_cast<double>(worst.activation_bytes) * 1e-9, place);
}

std::string steps_text(const plan::DataPlan& data) {
  const steps::StepTable& table = *data.steps;
  const steps::StepSummary& summary = *data.step_summary;
  std::string text = fmt::format(
      "\n{} of {} on {}, {:.1f} +- {:.1f} samples a step\n", counted(summary.count, "step"),
      counted(summary.micro_batches, "micro-batch"), counted(table.dp, "rank"),
      summary.samples_per_step.mean, summary.samples_per_step.std);
  if (summary.zero_weight_packs > 0) {
    text +=
        fmt::format("  the last step ends with {} zero-weight packs\n", summary.zero_weight_packs);
  }
  if (table.dropped_packs > 0) text += fmt::format("  {} packs left out\n", table.dropped_packs);
  if (table.repeated_packs > 0) text += fmt::format("  {} packs run again\n", table.repeated_packs);
  if (summary.vision_idle_groups > 0) {
    text += fmt::format("  in {} groups some ranks have no vision units, others do\n",
                        summary.vision_idle_groups);
  }
  text += fmt::format("imbalance between ranks: {}\n", imbalance_text(summary.dist_ratio));
  text += fmt::format("  in random order:       {}\n", imbalance_text(*summary.random_order));
  return text + worst_pack_text(*data.worst);
}

}  // namespace

std::string to_text(const plan::DataPlan& data, const plan::DataPlanOptions& options,
                    const Json& keys, const corpus::Corpus& corpus) {
  std::string text =
      fmt::format("{} of {} samples placed in packs of at most {} vision units and {} tokens\n",
                  data.grouping.packs.samples.size(), corpus.size(), options.limits.vision_cap,
                  options.limits.token_cap);
  text += truncations_text(data.admission.truncated, corpus);
  text += rejections_text(data.admission.rejected, corpus) + '\n';
  text += packs_table(data, options, keys);
  if (data.steps) text += steps_text(data);
  if (corpus.sources.size() > 1) text += '\n' + mix_text(keys);
  return text;
}

}  // namespace omnibal::cli
