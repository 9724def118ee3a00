// SPDX-License-Identifier: Apache-2.0
#include "cli/partition_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/recompute_text.h"
#include "cli/text_table.h"
#include "omnibal/base/quantity.h"

namespace omnibal::cli {
namespace {

std::string ms(double seconds) { return fmt::format("{:.2f}", seconds * 1e3); }

/// Where a rank runs several stages: they are not fullest at once.
std::string rank_table(const plan::ModelBalance& balance) {
  std::vector<std::vector<std::string>> rows{{"rank", "stages", "busy ms", "static", "peak"}};
  for (const metrics::RankSummary& rank : balance.ranks) {
    rows.push_back({fmt::format("{}", rows.size() - 1),
                    fmt::format("{}", fmt::join(rank.stages, " ")), ms(rank.busy_s),
                    format_bytes(rank.static_bytes), format_bytes(rank.peak_bytes)});
  }
  return text_table(rows);
}

std::string stage_table(const plan::ModelBalance& balance) {
  const bool several = balance.ranks.size() < balance.stages.size();
  std::vector<std::vector<std::string>> rows{{"stage", "layers", "forward ms", "backward ms",
                                              "recompute ms", "recomputed", "in flight", "static",
                                              "peak"}};
  if (several) rows.front().insert(rows.front().begin() + 1, "rank");
  for (const metrics::StageSummary& stage : balance.stages) {
    rows.push_back(
        {fmt::format("{}", rows.size() - 1),
         fmt::format("{}-{}", stage.first_layer, stage.first_layer + stage.num_layers - 1),
         ms(stage.forward_s), ms(stage.backward_s), ms(stage.recompute_s),
         recomputed_text(stage, balance.best.choices, balance.best.named),
         fmt::format("{}", stage.in_flight), format_bytes(stage.static_bytes),
         format_bytes(stage.peak_bytes)});
    if (several) rows.back().insert(rows.back().begin() + 1, fmt::format("{}", stage.rank));
  }
  return text_table(rows) + (several ? "\n" + rank_table(balance) : "");
}

/// What a step, or a stage, becomes if a cut moves.
std::string move_text(const joint::CutMove& move, double makespan_s) {
  if (!move.allowed) return "-";
  if (!move.fits) return fmt::format("does not fit: {}", format_bytes(move.peak_bytes));
  return fmt::format("{:+.2f}", (move.makespan_s - makespan_s) * 1e3);
}

std::string_view device_word(const plan::ModelBalance& balance) {
  return balance.ranks.size() < balance.stages.size() ? "rank" : "stage";
}

std::string certificate_text(const plan::ModelBalance& balance) {
  const joint::Certificate& certificate = *balance.certificate;
  const double gap = balance.metrics.bottleneck_s / certificate.lower_bound_s - 1;
  std::string text = fmt::format(
      "slowest {} {} ms; {} ms is {} ({:.2f} % above)\n"
      "step: no plan takes less than {} if micro-batches are alike and links free ({:.2f} % "
      "above)\n",
      device_word(balance), ms(balance.metrics.bottleneck_s), ms(certificate.lower_bound_s),
      certificate.proven ? "proven to be the least" : "a proven bound", std::max(0.0, gap) * 100,
      format_seconds(certificate.makespan_bound_s),
      std::max(0.0, balance.best.makespan_s / certificate.makespan_bound_s - 1) * 100);
  if (balance.cost_of_restriction) {
    text += fmt::format("the restriction costs {:.2f} % of the step\n",
                        *balance.cost_of_restriction * 100);
  }
  if (certificate.cuts.empty()) return text;
  std::vector<std::vector<std::string>> rows{
      {"cut", "a layer earlier: step ms", "slowest ms", "a layer later: step ms", "slowest ms"}};
  const auto slowest = [](const joint::CutMove& move) {
    return move.fits ? ms(move.bottleneck_s) : "-";
  };
  for (const joint::CutReason& reason : certificate.cuts) {
    rows.push_back({fmt::format("{}", reason.cut.value()),
                    move_text(reason.left, balance.best.makespan_s), slowest(reason.left),
                    move_text(reason.right, balance.best.makespan_s), slowest(reason.right)});
  }
  return text + "\nwhy the cuts stand where they stand\n" + text_table(rows);
}

std::string bound_text(const plan::ModelBalance& balance) {
  return fmt::format("slowest {} {} ms (with as much recomputation no cuts are below {} ms)\n",
                     device_word(balance), ms(balance.metrics.bottleneck_s),
                     ms(balance.metrics.lower_bound_s));
}

}  // namespace

std::string to_text(const plan::ModelBalance& balance, const PartitionQuestion& asked) {
  const metrics::PartitionMetrics& m = balance.metrics;
  return stage_table(balance) +
         fmt::format(
             "\n{}: step of {} takes {} by {}; {} other candidates simulated\n"
             "slowest forward {} ms; variance of the stages' forward time {:.3f} ms^2; {} cross "
             "the "
             "cuts a micro-batch\n",
             asked.method, counted(asked.micro_batches, "micro-batch"),
             format_seconds(balance.best.makespan_s), asked.schedule, balance.alternatives.size(),
             ms(m.bottleneck_forward_s), m.var_forward_ms2, format_bytes(m.sum_comm_bytes)) +
         (balance.certificate ? certificate_text(balance) : bound_text(balance));
}

}  // namespace omnibal::cli
