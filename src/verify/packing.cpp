// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>

#include "checks.h"
#include "omnibal/codec/files.h"

namespace omnibal::verify {
namespace {

using codec::Json;

std::int64_t num_packs(const plan::PlanReader& plan) {
  return static_cast<std::int64_t>(plan.pack_loads().size());
}

std::int64_t num_samples(const plan::PlanReader& plan) {
  return static_cast<std::int64_t>(plan.sample_tokens().size());
}

/// Offsets ascend from 0 to the number of members and ids are corpus indices: what every other
/// check relies on.
Status structure(const plan::PlanReader& plan) {
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

/// How often each corpus index stands in a pack.
Result<std::vector<std::uint8_t>> placements(const plan::PlanReader& plan) {
  OMNIBAL_RETURN_IF_ERROR(structure(plan));
  std::vector<std::uint8_t> count(static_cast<std::size_t>(num_samples(plan)), 0);
  for (const std::int64_t sample : plan.pack_samples()) {
    if (++count[static_cast<std::size_t>(sample)] > 1) {
      return violation("sample {} (row {}) is placed more than once", sample,
                       plan.sample_row()[static_cast<std::size_t>(sample)]);
    }
  }
  return count;
}

/// The sample of a rejection: source by name, then row; each row of rejected.jsonl takes the next
/// unplaced sample with that source and row.
Status check_rejected_line(const plan::PlanReader& plan, const Json& line, std::size_t sample) {
  const Json& sources = plan.document()["corpus"]["sources"];
  const std::size_t source = plan.sample_source()[sample];
  if (source >= sources.size()) {
    return violation("sample {} names source {}, there are {}", sample, source, sources.size());
  }
  const bool same = line.value("source", Json()) == sources[source].value("name", Json()) &&
                    line.value("row", Json()) == Json(plan.sample_row()[sample]);
  if (!same) {
    return violation("sample {} is in no pack, but rejected.jsonl has {} in its place", sample,
                     line.dump());
  }
  if (!line.contains("reason")) return violation("rejected.jsonl gives no reason: {}", line.dump());
  return {};
}

bool is_padded(const plan::PlanReader& plan) {
  return plan.document().value("padded", Json(false)) == Json(true);
}

/// As the pack computes: its samples behind each other, or each padded to the longest.
metrics::PackLoad recomputed_load(const plan::PlanReader& plan, std::size_t pack) {
  metrics::PackLoad load;
  std::int64_t longest = 0;
  for (std::int64_t i = plan.pack_offsets()[pack]; i < plan.pack_offsets()[pack + 1]; ++i) {
    const auto sample = static_cast<std::size_t>(plan.pack_samples()[static_cast<std::size_t>(i)]);
    const std::int64_t tokens = plan.sample_tokens()[sample];
    longest = std::max(longest, tokens);
    load.vision_units += plan.sample_vision()[sample];
    load.tokens += tokens;
    load.token_pairs += tokens * tokens;
  }
  if (is_padded(plan)) {
    const std::int64_t size = plan.pack_offsets()[pack + 1] - plan.pack_offsets()[pack];
    load.tokens = size * longest;
    load.token_pairs = size * longest * longest;
  }
  return load;
}

Result<const Json*> limits_of(const plan::PlanReader& plan) {
  return codec::JsonFields(plan.document(), std::string(plan::kPlanDocument)).object("limits");
}

}  // namespace

Finding check_exactly_once(const plan::PlanReader& plan) {
  OMNIBAL_ASSIGN(const std::vector<std::uint8_t> count, placements(plan));
  return fmt::format("{} packs hold {} of {} samples, none twice", num_packs(plan),
                     plan.pack_samples().size(), count.size());
}

Finding check_rejected(const plan::PlanReader& plan, const std::string& directory) {
  OMNIBAL_ASSIGN(const std::vector<std::uint8_t> count, placements(plan));
  const codec::JsonFields fields(plan.document(), std::string(plan::kPlanDocument));
  OMNIBAL_ASSIGN(const Json* corpus, fields.object("corpus"));
  OMNIBAL_RETURN_IF_ERROR(
      codec::JsonFields(*corpus, std::string(plan::kPlanDocument), "corpus").array("sources"));
  OMNIBAL_ASSIGN(const std::string text, codec::read_file(directory + "/rejected.jsonl"));
  std::istringstream lines(text);
  std::int64_t num_rejected = 0;
  for (std::size_t sample = 0; sample < count.size(); ++sample) {
    if (count[sample] != 0) continue;
    std::string line;
    if (!std::getline(lines, line)) {
      return violation("sample {} is neither in a pack nor in rejected.jsonl", sample);
    }
    OMNIBAL_ASSIGN(const Json rejection, codec::parse_json(line, "rejected.jsonl"));
    OMNIBAL_RETURN_IF_ERROR(check_rejected_line(plan, rejection, sample));
    ++num_rejected;
  }
  if (std::string line; std::getline(lines, line)) {
    return violation("rejected.jsonl has a sample too many: {}", line);
  }
  OMNIBAL_RETURN_IF_ERROR(agree(plan.document(), "rejected", num_rejected));
  return fmt::format("{} samples rejected, each with a reason", num_rejected);
}

Finding check_loads(const plan::PlanReader& plan) {
  OMNIBAL_RETURN_IF_ERROR(structure(plan));
  for (std::size_t p = 0; p < plan.pack_loads().size(); ++p) {
    const metrics::PackLoad load = recomputed_load(plan, p);
    if (load != plan.pack_loads()[p]) {
      return violation("pack {} has {} vision units, {} tokens, {} pairs, pack_load.npy differs", p,
                       load.vision_units, load.tokens, load.token_pairs);
    }
  }
  return fmt::format("{} pack loads recomputed from their samples", num_packs(plan));
}

Finding check_caps(const plan::PlanReader& plan) {
  OMNIBAL_RETURN_IF_ERROR(structure(plan));
  if (is_padded(plan)) return std::string("caps do not bind a method that pads");
  OMNIBAL_ASSIGN(const Json* limits, limits_of(plan));
  const codec::JsonFields fields(*limits, std::string(plan::kPlanDocument), "limits");
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  OMNIBAL_ASSIGN(const std::int64_t vision_cap, fields.integer("vision_cap", 0, kMost));
  OMNIBAL_ASSIGN(const std::int64_t token_cap, fields.integer("token_cap", 1, kMost));
  OMNIBAL_ASSIGN(const std::int64_t max_samples, fields.integer_or("max_samples", 0, 0, kMost));
  for (std::size_t p = 0; p < plan.pack_loads().size(); ++p) {
    const metrics::PackLoad load = recomputed_load(plan, p);
    if (load.vision_units > vision_cap) {
      return violation("pack {} has {} vision units, cap {}", p, load.vision_units, vision_cap);
    }
    if (load.tokens > token_cap) {
      return violation("pack {} has {} tokens, cap {}", p, load.tokens, token_cap);
    }
    const std::int64_t size = plan.pack_offsets()[p + 1] - plan.pack_offsets()[p];
    if (max_samples > 0 && size > max_samples) {
      return violation("pack {} has {} samples, at most {} allowed", p, size, max_samples);
    }
  }
  return fmt::format("no pack above {} vision units or {} tokens", vision_cap, token_cap);
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
  const codec::JsonFields fields(plan.document(), std::string(plan::kPlanDocument));
  OMNIBAL_ASSIGN(const Json* corpus, fields.object("corpus"));
  OMNIBAL_RETURN_IF_ERROR(agree(*corpus, "samples", num_samples(plan)));
  OMNIBAL_ASSIGN(
      const Json* sources,
      codec::JsonFields(*corpus, std::string(plan::kPlanDocument), "corpus").array("sources"));
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
