// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "checks.h"
#include "omnibal/metrics/balance.h"
#include "omnibal/metrics/pack_bound.h"
#include "omnibal/pack/method.h"

namespace omnibal::verify {
namespace {

using codec::Json;
using codec::JsonFields;

/// The baselines; everything else packs.
constexpr std::array<std::string_view, 4> kPaddingMethods = {"random", "sorted", "length-grouped",
                                                             "device-group"};

/// The method exists and pads if and only if the plan says so. Which of several methods of one
/// kind made the packs cannot be told from them.
Status check_method(const JsonFields& root, bool padded) {
  OMNIBAL_ASSIGN(const std::string method, root.text("method"));
  if (!pack::parse_method(method)) return violation("there is no method \"{}\"", method);
  if ((std::ranges::find(kPaddingMethods, method) != kPaddingMethods.end()) == padded) return {};
  return violation("method {} {}, but plan.json says padded {}", method,
                   padded ? "does not pad" : "pads", padded);
}

Status check_fill(const plan::PlanReader& plan, const JsonFields& root,
                  const metrics::PackCaps& caps) {
  const metrics::Fill fill = metrics::fill(plan.pack_loads(), caps);
  OMNIBAL_ASSIGN(const Json* claimed, root.object("fill"));
  OMNIBAL_RETURN_IF_ERROR(agree(*claimed, "vision", fill.vision));
  OMNIBAL_RETURN_IF_ERROR(agree(*claimed, "tokens", fill.tokens));
  return agree(plan.document(), "over_cap", metrics::count_over_cap(plan.pack_loads(), caps));
}

}  // namespace

Finding check_packing_metrics(const plan::PlanReader& plan) {
  // Sums and histograms below rely on what other checks report.
  OMNIBAL_RETURN_IF_ERROR(check_exactly_once(plan));
  OMNIBAL_RETURN_IF_ERROR(check_loads(plan));
  OMNIBAL_ASSIGN(const Caps limits, caps_of(plan));
  const metrics::PackCaps caps = limits.usable();
  OMNIBAL_RETURN_IF_ERROR(check_samples_fit(plan, caps));
  const JsonFields root(plan.document(), plan::plan_document_name());
  OMNIBAL_ASSIGN(const bool padded, root.boolean("padded"));
  OMNIBAL_RETURN_IF_ERROR(check_method(root, padded));
  OMNIBAL_RETURN_IF_ERROR(check_fill(plan, root, caps));

  const std::vector<std::uint32_t> members(plan.pack_samples().begin(), plan.pack_samples().end());
  const metrics::GroupView packs{plan.pack_offsets(), members};
  const metrics::SampleColumns samples{plan.sample_vision(), plan.sample_tokens()};
  OMNIBAL_RETURN_IF_ERROR(
      agree(plan.document(), "pad_ratio",
            padded ? metrics::padded_pad_ratio(packs, samples.tokens)
                   : metrics::packed_pad_ratio(plan.pack_loads(), limits.token_multiple)));
  const std::int64_t bound = metrics::pack_lower_bound(samples, members, caps);
  OMNIBAL_RETURN_IF_ERROR(agree(plan.document(), "lower_bound", bound));
  OMNIBAL_RETURN_IF_ERROR(agree(
      plan.document(), "gap", static_cast<double>(packs.size()) / static_cast<double>(bound) - 1));
  return fmt::format("{} packs, at least {} needed; fill and padding recomputed", packs.size(),
                     bound);
}

}  // namespace omnibal::verify
