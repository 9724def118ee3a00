// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <sstream>

#include "omnibal/codec/files.h"
#include "truncated.h"

namespace omnibal::verify {
namespace {

using codec::Json;
using codec::JsonFields;

const std::string kRejectedFile = "rejected.jsonl";

/// What a reason says of a sample, and whether it is so.
struct Ground {
  std::int64_t value = 0;
  std::int64_t limit = 0;
  bool holds = false;
};

/// `value` is what the line says: tokens of media and with a loss are in the inputs alone.
Result<Ground> ground_of(const std::string& reason, std::int64_t value, std::int64_t vision,
                         std::int64_t tokens, const metrics::PackCaps& caps) {
  const bool too_long = tokens > caps.tokens && vision <= caps.vision_units;
  const std::int64_t needed = tokens - caps.tokens + 1;
  if (reason == "media") return Ground{value, caps.tokens - 1, too_long && value >= caps.tokens};
  if (reason == "supervised") {
    return Ground{value, needed, too_long && value >= 0 && value < needed && value <= tokens};
  }
  if (reason == "tokens") return Ground{tokens, caps.tokens, tokens > caps.tokens};
  if (reason == "vision") return Ground{vision, caps.vision_units, vision > caps.vision_units};
  if (reason == "zero_tokens") return Ground{tokens, 1, tokens == 0};
  return violation("there is no reason \"{}\" to reject a sample", reason).in_file(kRejectedFile);
}

Status check_ground(const plan::PlanReader& plan, const JsonFields& line, std::size_t sample,
                    const metrics::PackCaps& caps) {
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  OMNIBAL_ASSIGN(const std::string reason, line.text("reason"));
  OMNIBAL_ASSIGN(const std::int64_t value, line.integer("value", kLeast, kMost));
  OMNIBAL_ASSIGN(const std::int64_t limit, line.integer("limit", kLeast, kMost));
  const std::int64_t vision = plan.sample_vision()[sample];
  const std::int64_t tokens = plan.sample_tokens()[sample];
  OMNIBAL_ASSIGN(const Ground ground, ground_of(reason, value, vision, tokens, caps));
  if (ground.holds && value == ground.value && limit == ground.limit) return {};
  return violation(
             "sample {} is rejected for {} {} of {}, but it has {} tokens of {} and {} "
             "vision units of {}",
             sample, reason, value, limit, tokens, caps.tokens, vision, caps.vision_units)
      .in_file(kRejectedFile);
}

Result<std::string> source_name(const plan::PlanReader& plan, const Json& sources,
                                std::size_t sample) {
  const std::size_t source = plan.sample_source()[sample];
  if (source >= sources.size()) {
    return violation("sample {} names source {}, there are {}", sample, source, sources.size());
  }
  return JsonFields(sources[source], plan::plan_document_name(),
                    fmt::format("corpus.sources[{}]", source))
      .text("name");
}

/// Lines stand in corpus order: each must be about the next sample that is in no pack.
Status check_line(const plan::PlanReader& plan, const Json& sources, const Json& json,
                  std::size_t sample, const metrics::PackCaps& caps) {
  const JsonFields line(json, kRejectedFile);
  OMNIBAL_ASSIGN(const std::string source, line.text("source"));
  OMNIBAL_ASSIGN(const std::int64_t row,
                 line.integer("row", 0, std::numeric_limits<std::uint32_t>::max()));
  OMNIBAL_ASSIGN(const std::string name, source_name(plan, sources, sample));
  if (source != name || row != plan.sample_row()[sample]) {
    return violation("sample {} is in no pack, but rejected.jsonl has {} in its place", sample,
                     json.dump());
  }
  return check_ground(plan, line, sample, caps);
}

/// What a line says of tokens of media and with a loss. Lines that say something else, or nothing,
/// are judged by check_rejected.
Status compare_value(const std::string& text, std::size_t sample, const corpus::Corpus& corpus) {
  const Result<Json> json = codec::parse_json(text, kRejectedFile);
  if (!json || !json->is_object()) return {};
  const Json reason = json->value("reason", Json());
  const Json value = json->value("value", Json());
  std::int64_t known = 0;
  if (reason == Json("media")) {
    known = media_tokens(corpus, sample);
  } else if (reason == Json("supervised")) {
    known = corpus.supervised[sample];
  } else {
    return {};
  }
  if (value == Json(known)) return {};
  return violation("sample {} is rejected for {} {}, its input says {}", sample, reason.dump(),
                   value.dump(), known)
      .in_file(kRejectedFile);
}

}  // namespace

Status compare_rejections(const plan::PlanReader& plan, const std::string& directory,
                          const corpus::Corpus& corpus, bool truncates) {
  OMNIBAL_ASSIGN(const std::vector<bool> placed, placed_samples(plan));
  OMNIBAL_ASSIGN(const Caps limits, caps_of(plan));
  const metrics::PackCaps caps = limits.usable();
  OMNIBAL_ASSIGN(const std::string text, codec::read_file(directory + "/" + kRejectedFile));
  std::istringstream lines(text);
  for (std::size_t sample = 0; sample < placed.size(); ++sample) {
    if (placed[sample]) continue;
    std::string line;
    std::getline(lines, line);
    OMNIBAL_RETURN_IF_ERROR(compare_value(line, sample, corpus));
    const bool too_long =
        corpus.tokens[sample] > caps.tokens && corpus.vision[sample] <= caps.vision_units;
    if (!truncates || !too_long || !is_safe_cut(corpus, sample, caps.tokens)) continue;
    return violation("sample {} is rejected, it could have been cut", sample)
        .in_file(kRejectedFile);
  }
  return {};
}

Finding check_rejected(const plan::PlanReader& plan, const std::string& directory) {
  OMNIBAL_ASSIGN(const std::vector<bool> placed, placed_samples(plan));
  OMNIBAL_ASSIGN(const Caps caps, caps_of(plan));
  OMNIBAL_ASSIGN(const Json* corpus,
                 JsonFields(plan.document(), plan::plan_document_name()).object("corpus"));
  OMNIBAL_ASSIGN(const Json* sources,
                 JsonFields(*corpus, plan::plan_document_name(), "corpus").array("sources"));
  OMNIBAL_ASSIGN(const std::string text, codec::read_file(directory + "/" + kRejectedFile));
  std::istringstream lines(text);
  std::int64_t num_rejected = 0;
  for (std::size_t sample = 0; sample < placed.size(); ++sample) {
    if (placed[sample]) continue;
    std::string line;
    if (!std::getline(lines, line)) {
      return violation("sample {} is neither in a pack nor in rejected.jsonl", sample);
    }
    OMNIBAL_ASSIGN(const Json json, codec::parse_json(line, kRejectedFile));
    OMNIBAL_RETURN_IF_ERROR(check_line(plan, *sources, json, sample, caps.usable()));
    ++num_rejected;
  }
  if (std::string line; std::getline(lines, line)) {
    return violation("rejected.jsonl has a sample too many: {}", line);
  }
  OMNIBAL_RETURN_IF_ERROR(agree(plan.document(), "rejected", num_rejected));
  return fmt::format("{} samples rejected, each for what its lengths and the caps say",
                     num_rejected);
}

}  // namespace omnibal::verify
