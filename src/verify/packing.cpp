// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "checks.h"

namespace omnibal::verify {
namespace {

using codec::Json;
using codec::JsonFields;

std::int64_t num_packs(const plan::PlanReader& plan) {
  return static_cast<std::int64_t>(plan.pack_loads().size());
}

std::int64_t num_samples(const plan::PlanReader& plan) {
  return static_cast<std::int64_t>(plan.sample_tokens().size());
}

/// As the pack computes: its samples behind each other, or each padded to the longest. Lengths are
/// below 2^31 and members fewer, so only pairs can pass 64 bits.
Result<metrics::PackLoad> recomputed_load(const plan::PlanReader& plan, std::size_t pack) {
  metrics::PackLoad load;
  std::int64_t longest = 0;
  bool too_many = false;
  for (std::int64_t i = plan.pack_offsets()[pack]; i < plan.pack_offsets()[pack + 1]; ++i) {
    const auto sample = static_cast<std::size_t>(plan.pack_samples()[static_cast<std::size_t>(i)]);
    const std::int64_t tokens = plan.sample_tokens()[sample];
    longest = std::max(longest, tokens);
    load.vision_units += plan.sample_vision()[sample];
    load.tokens += tokens;
    too_many |= __builtin_add_overflow(load.token_pairs, tokens * tokens, &load.token_pairs);
  }
  if (is_padded(plan)) {
    load.tokens = pack_size(plan, pack) * longest;
    too_many = __builtin_mul_overflow(load.tokens, longest, &load.token_pairs);
  }
  if (too_many) return violation("pack {} has more token pairs than 64 bits can count", pack);
  return load;
}

Status check_pack_fits(const metrics::PackLoad& load, std::int64_t size, std::size_t pack,
                       const metrics::PackCaps& caps) {
  if (load.vision_units > caps.vision_units) {
    return violation("pack {} has {} vision units, cap {}", pack, load.vision_units,
                     caps.vision_units);
  }
  if (load.tokens > caps.tokens) {
    return violation("pack {} has {} tokens, cap {}", pack, load.tokens, caps.tokens);
  }
  if (caps.samples > 0 && size > caps.samples) {
    return violation("pack {} has {} samples, at most {} allowed", pack, size, caps.samples);
  }
  return {};
}

}  // namespace

std::int64_t pack_size(const plan::PlanReader& plan, std::size_t pack) {
  return plan.pack_offsets()[pack + 1] - plan.pack_offsets()[pack];
}

Status check_structure(const plan::PlanReader& plan) {
  const auto offsets = plan.pack_offsets();
  const auto placed = static_cast<std::int64_t>(plan.pack_samples().size());
  if (offsets.front() != 0 || offsets.back() != placed) {
    return violation("pack_offsets.npy runs from {} to {}, pack_samples.npy has {} members",
                     offsets.front(), offsets.back(), placed);
  }
  for (std::size_t p = 0; p + 1 < offsets.size(); ++p) {
    if (offsets[p] >= offsets[p + 1] || offsets[p + 1] > placed) {
      return violation("pack {} spans members {} to {}", p, offsets[p], offsets[p + 1]);
    }
  }
  for (std::size_t i = 0; i < plan.pack_samples().size(); ++i) {
    const std::int64_t sample = plan.pack_samples()[i];
    if (sample < 0 || sample >= num_samples(plan)) {
      return violation("pack_samples.npy[{}] is {}, the corpus has {} samples", i, sample,
                       num_samples(plan));
    }
  }
  return {};
}

Result<std::vector<bool>> placed_samples(const plan::PlanReader& plan) {
  OMNIBAL_RETURN_IF_ERROR(check_structure(plan));
  std::vector<bool> placed(static_cast<std::size_t>(num_samples(plan)), false);
  for (const std::int64_t id : plan.pack_samples()) {
    const auto sample = static_cast<std::size_t>(id);
    if (placed[sample]) {
      return violation("sample {} (row {}) is placed more than once", sample,
                       plan.sample_row()[sample]);
    }
    placed[sample] = true;
  }
  return placed;
}

Status check_samples_fit(const plan::PlanReader& plan, const metrics::PackCaps& caps) {
  for (const std::int64_t id : plan.pack_samples()) {
    const auto sample = static_cast<std::size_t>(id);
    const std::int64_t vision = plan.sample_vision()[sample];
    const std::int64_t tokens = plan.sample_tokens()[sample];
    if (vision <= caps.vision_units && tokens <= caps.tokens) continue;
    return violation("sample {} has {} vision units and {} tokens, caps {} and {}", sample, vision,
                     tokens, caps.vision_units, caps.tokens);
  }
  return {};
}

bool is_padded(const plan::PlanReader& plan) {
  const auto padded = plan.document().find("padded");
  return padded != plan.document().end() && *padded == Json(true);
}

Finding check_exactly_once(const plan::PlanReader& plan) {
  OMNIBAL_ASSIGN(const std::vector<bool> placed, placed_samples(plan));
  return fmt::format("{} packs hold {} of {} samples, none twice", num_packs(plan),
                     plan.pack_samples().size(), placed.size());
}

Finding check_loads(const plan::PlanReader& plan) {
  OMNIBAL_RETURN_IF_ERROR(check_structure(plan));
  for (std::size_t p = 0; p < plan.pack_loads().size(); ++p) {
    OMNIBAL_ASSIGN(const metrics::PackLoad load, recomputed_load(plan, p));
    if (load != plan.pack_loads()[p]) {
      return violation("pack {} has {} vision units, {} tokens, {} pairs, pack_load.npy differs", p,
                       load.vision_units, load.tokens, load.token_pairs);
    }
  }
  return fmt::format("{} pack loads recomputed from their samples", num_packs(plan));
}

Finding check_caps(const plan::PlanReader& plan) {
  OMNIBAL_RETURN_IF_ERROR(check_structure(plan));
  OMNIBAL_ASSIGN(const Caps limits, caps_of(plan));
  const metrics::PackCaps caps = limits.usable();
  if (is_padded(plan)) {
    OMNIBAL_RETURN_IF_ERROR(check_samples_fit(plan, caps));
    return std::string("no sample is above the caps; they do not bind packs of a method that pads");
  }
  for (std::size_t p = 0; p < plan.pack_loads().size(); ++p) {
    OMNIBAL_ASSIGN(const metrics::PackLoad load, recomputed_load(plan, p));
    OMNIBAL_RETURN_IF_ERROR(check_pack_fits(load, pack_size(plan, p), p, caps));
  }
  return fmt::format("no pack above {} vision units or {} tokens", caps.vision_units, caps.tokens);
}

Finding check_supervised(const plan::PlanReader& plan) {
  for (std::size_t p = 0; p < plan.supervised().size(); ++p) {
    const std::int64_t supervised = plan.supervised()[p];
    if (supervised < 0 || supervised > plan.pack_loads()[p].tokens) {
      return violation("pack {} has {} supervised of {} tokens", p, supervised,
                       plan.pack_loads()[p].tokens);
    }
  }
  return std::string("no pack supervises more tokens than it has");
}

Finding check_counts(const plan::PlanReader& plan) {
  const auto placed = static_cast<std::int64_t>(plan.pack_samples().size());
  OMNIBAL_RETURN_IF_ERROR(agree(plan.document(), "samples", num_samples(plan)));
  OMNIBAL_RETURN_IF_ERROR(agree(plan.document(), "packs", num_packs(plan)));
  OMNIBAL_RETURN_IF_ERROR(agree(plan.document(), "placed", placed));
  OMNIBAL_RETURN_IF_ERROR(agree(plan.document(), "rejected", num_samples(plan) - placed));
  OMNIBAL_ASSIGN(const Json* corpus,
                 JsonFields(plan.document(), plan::plan_document_name()).object("corpus"));
  OMNIBAL_RETURN_IF_ERROR(agree(*corpus, "samples", num_samples(plan)));
  OMNIBAL_ASSIGN(const Json* sources,
                 JsonFields(*corpus, plan::plan_document_name(), "corpus").array("sources"));
  std::vector<std::int64_t> of_source(sources->size(), 0);
  for (const std::uint16_t source : plan.sample_source()) {
    if (source >= of_source.size()) return violation("a sample names source {}", source);
    ++of_source[source];
  }
  for (std::size_t s = 0; s < of_source.size(); ++s) {
    OMNIBAL_RETURN_IF_ERROR(agree((*sources)[s], "samples", of_source[s]));
  }
  return fmt::format("{} samples = {} placed + {} rejected", num_samples(plan), placed,
                     num_samples(plan) - placed);
}

}  // namespace omnibal::verify
