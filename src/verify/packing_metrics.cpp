// SPDX-License-Identifier: Apache-2.0
#include "checks.h"
#include "omnibal/metrics/balance.h"
#include "omnibal/metrics/occupancy.h"
#include "omnibal/metrics/pack_bound.h"

namespace omnibal::verify {
namespace {

using codec::Json;
using codec::JsonFields;

constexpr std::int64_t kMost = std::int64_t{1} << 40;

struct Caps {
  metrics::PackCaps caps;
  std::int64_t token_multiple = 1;
};

Result<Caps> caps_of(const JsonFields& root) {
  OMNIBAL_ASSIGN(const Json* limits, root.object("limits"));
  const JsonFields fields(*limits, std::string(plan::kPlanDocument), "limits");
  Caps caps;
  OMNIBAL_ASSIGN(caps.caps.vision_units, fields.integer("vision_cap", 1, kMost));
  OMNIBAL_ASSIGN(caps.caps.tokens, fields.integer("token_cap", 1, kMost));
  OMNIBAL_ASSIGN(caps.caps.samples, fields.integer_or("max_samples", 0, 0, kMost));
  OMNIBAL_ASSIGN(caps.token_multiple, fields.integer_or("token_multiple", 1, 1, kMost));
  caps.caps.tokens = caps.caps.tokens / caps.token_multiple * caps.token_multiple;
  return caps;
}

}  // namespace

Finding check_packing_metrics(const plan::PlanReader& plan) {
  OMNIBAL_RETURN_IF_ERROR(check_exactly_once(plan));
  const JsonFields root(plan.document(), std::string(plan::kPlanDocument));
  OMNIBAL_ASSIGN(const Caps caps, caps_of(root));
  OMNIBAL_ASSIGN(const bool padded, root.boolean_or("padded", false));
  const std::vector<std::uint32_t> members(plan.pack_samples().begin(), plan.pack_samples().end());
  const metrics::GroupView packs{plan.pack_offsets(), members};
  const metrics::SampleColumns samples{plan.sample_vision(), plan.sample_tokens()};

  const metrics::Fill fill = metrics::fill(plan.pack_loads(), caps.caps);
  OMNIBAL_ASSIGN(const Json* claimed_fill, root.object("fill"));
  OMNIBAL_RETURN_IF_ERROR(agree(*claimed_fill, "vision", fill.vision));
  OMNIBAL_RETURN_IF_ERROR(agree(*claimed_fill, "tokens", fill.tokens));
  OMNIBAL_RETURN_IF_ERROR(
      agree(plan.document(), "pad_ratio",
            padded ? metrics::padded_pad_ratio(packs, samples.tokens)
                   : metrics::packed_pad_ratio(plan.pack_loads(), caps.token_multiple)));
  OMNIBAL_RETURN_IF_ERROR(
      agree(plan.document(), "over_cap", metrics::count_over_cap(plan.pack_loads(), caps.caps)));
  const std::int64_t bound = metrics::pack_lower_bound(samples, members, caps.caps);
  OMNIBAL_RETURN_IF_ERROR(agree(plan.document(), "lower_bound", bound));
  OMNIBAL_RETURN_IF_ERROR(agree(
      plan.document(), "gap", static_cast<double>(packs.size()) / static_cast<double>(bound) - 1));
  return fmt::format("{} packs, at least {} needed; fill vision {:.3f}, tokens {:.3f}",
                     packs.size(), bound, fill.vision, fill.tokens);
}

}  // namespace omnibal::verify
