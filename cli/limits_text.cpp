// SPDX-License-Identifier: Apache-2.0
#include "cli/limits_text.h"

#include <fmt/format.h>

#include "omnibal/base/quantity.h"

namespace omnibal::cli {
namespace {

using plan::CapPrediction;

std::string slower(const CapPrediction& other, const CapPrediction& best) {
  if (!other.fits()) return "does not fit";
  return fmt::format("{:+.1f} %", 100 * (other.seconds_per_sample / best.seconds_per_sample - 1));
}

/// "vision cap 10 (9: +0.4 %, 11: +3.2 %)".
std::string cap_text(const char* name, std::int64_t CapPrediction::*cap,
                     const plan::CapReason& reason, const CapPrediction& best) {
  std::string text = fmt::format("{} cap {}", name, best.*cap);
  if (reason.given) return text + " as given";
  std::string beside;
  if (reason.holds_largest_sample) beside = "the largest sample";
  for (const auto& other : {reason.smaller, reason.larger}) {
    if (!other) continue;
    beside +=
        fmt::format("{}{}: {}", beside.empty() ? "" : ", ", (*other).*cap, slower(*other, best));
  }
  return beside.empty() ? text : fmt::format("{} ({})", text, beside);
}

std::string others_text(const plan::LimitChoice& choice) {
  std::string text;
  const auto add = [&](const char* before, const CapPrediction& other) {
    text += fmt::format("{}{}{} x {} {}", text.empty() ? "" : ", ", before, other.vision_cap,
                        other.token_cap, slower(other, choice.best));
  };
  for (const CapPrediction& other : choice.runners_up) add("", other);
  if (choice.paper) add("the paper's ", *choice.paper);
  return text;
}

}  // namespace

std::string to_text(const plan::LimitChoice& choice) {
  const CapPrediction& best = choice.best;
  const plan::LimitContext& context = choice.context;
  std::string text = fmt::format(
      "caps chosen for {} on {}, tp {} x pp {} x dp {}, {} samples a step: {:.2f} s per 1000 "
      "samples\n  {}; {}\n"
      "  {:.2f} samples a pack, {} micro-batches a rank; a full pack takes {} of {}, {} layers "
      "recompute ({:.1f} % of the time)\n",
      context.model, context.cluster, context.sizes.tp, context.sizes.pp, context.sizes.dp,
      context.global_batch, 1000 * best.seconds_per_sample,
      cap_text("vision", &CapPrediction::vision_cap, choice.vision, best),
      cap_text("token", &CapPrediction::token_cap, choice.tokens, best), best.samples_per_pack,
      best.micro_batches, format_bytes(best.peak_bytes), format_bytes(context.memory_bytes),
      best.recomputed_layers, 100 * best.recompute_share);
  if (const std::string others = others_text(choice); !others.empty()) {
    text += fmt::format("  also looked at, vision x tokens: {}\n", others);
  }
  if (choice.too_large > 0) {
    text += fmt::format(
        "  {} samples are too large for the memory and rejected: more --memory, tp or pp would "
        "hold them\n",
        choice.too_large);
  }
  return text;
}

}  // namespace omnibal::cli
