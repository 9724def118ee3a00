// SPDX-License-Identifier: Apache-2.0
//
// truncated.jsonl: samples whose text ends early. What the cut rests on (media, tokens with a loss)
// only the inputs tell: inputs.cpp.
#include "truncated.h"

#include <filesystem>
#include <limits>
#include <sstream>

#include "omnibal/codec/files.h"

namespace omnibal::verify {
namespace {

using codec::Json;
using codec::JsonFields;

const std::string kTruncatedFile = "truncated.jsonl";

/// Lines stand in corpus order: the first sample from `first` on that the line names.
Result<Cut> cut_of(const plan::PlanReader& plan, const std::vector<std::string>& names,
                   const Json& json, std::size_t first) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const JsonFields line(json, kTruncatedFile);
  OMNIBAL_ASSIGN(const std::string source, line.text("source"));
  OMNIBAL_ASSIGN(const std::int64_t row,
                 line.integer("row", 0, std::numeric_limits<std::uint32_t>::max()));
  Cut cut;
  OMNIBAL_ASSIGN(cut.from, line.integer("from", 1, kMost));
  OMNIBAL_ASSIGN(cut.to, line.integer("to", 1, kMost));
  for (cut.sample = first; cut.sample < plan.sample_row().size(); ++cut.sample) {
    if (plan.sample_row()[cut.sample] != row) continue;
    const std::size_t index = plan.sample_source()[cut.sample];
    if (index < names.size() && names[index] == source) return cut;
  }
  return violation("there is no sample left for {}", json.dump()).in_file(kTruncatedFile);
}

}  // namespace

Result<std::vector<std::string>> source_names(const plan::PlanReader& plan) {
  OMNIBAL_ASSIGN(const Json* corpus,
                 JsonFields(plan.document(), plan::plan_document_name()).object("corpus"));
  OMNIBAL_ASSIGN(const Json* sources,
                 JsonFields(*corpus, plan::plan_document_name(), "corpus").array("sources"));
  std::vector<std::string> names;
  for (std::size_t s = 0; s < sources->size(); ++s) {
    const JsonFields source((*sources)[s], plan::plan_document_name(),
                            fmt::format("corpus.sources[{}]", s));
    OMNIBAL_ASSIGN(std::string name, source.text("name"));
    names.push_back(std::move(name));
  }
  return names;
}

Result<std::vector<Cut>> read_cuts(const plan::PlanReader& plan, const std::string& directory) {
  const std::string path = directory + "/" + kTruncatedFile;
  if (!std::filesystem::exists(path)) return std::vector<Cut>();
  OMNIBAL_ASSIGN(const std::vector<std::string> names, source_names(plan));
  OMNIBAL_ASSIGN(const std::string text, codec::read_file(path));
  std::vector<Cut> cuts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    OMNIBAL_ASSIGN(const Json json, codec::parse_json(line, kTruncatedFile));
    const std::size_t first = cuts.empty() ? 0 : cuts.back().sample + 1;
    OMNIBAL_ASSIGN(const Cut cut, cut_of(plan, names, json, first));
    cuts.push_back(cut);
  }
  return cuts;
}

std::int64_t media_tokens(const corpus::Corpus& corpus, std::size_t sample) {
  const std::int64_t real = std::int64_t{corpus.vision[sample]} - corpus.dummy_vision[sample];
  return real * corpus.unit.llm_tokens;
}

bool is_safe_cut(const corpus::Corpus& corpus, std::size_t sample, std::int64_t to) {
  const std::int64_t lost = std::int64_t{corpus.tokens[sample]} - to;
  return media_tokens(corpus, sample) + 1 <= to && corpus.supervised[sample] - lost >= 1;
}

Finding check_truncated(const plan::PlanReader& plan, const std::string& directory) {
  OMNIBAL_ASSIGN(const std::vector<bool> placed, placed_samples(plan));
  OMNIBAL_ASSIGN(const Caps limits, caps_of(plan));
  const metrics::PackCaps caps = limits.usable();
  OMNIBAL_ASSIGN(const std::vector<Cut> cuts, read_cuts(plan, directory));
  for (const Cut& cut : cuts) {
    const std::int64_t tokens = plan.sample_tokens()[cut.sample];
    const std::int64_t vision = plan.sample_vision()[cut.sample];
    const bool holds = placed[cut.sample] && tokens == cut.to && cut.to == caps.tokens &&
                       cut.from > cut.to && vision <= caps.vision_units;
    if (holds) continue;
    return violation(
               "sample {} is said to be cut from {} to {} tokens; it is {}in a pack with {} tokens "
               "of {} and {} vision units of {}",
               cut.sample, cut.from, cut.to, placed[cut.sample] ? "" : "not ", tokens, caps.tokens,
               vision, caps.vision_units)
        .in_file(kTruncatedFile);
  }
  const auto count = static_cast<std::int64_t>(cuts.size());
  OMNIBAL_RETURN_IF_ERROR(agree(plan.document(), "truncated", count));
  return fmt::format("{} samples cut, all to the {} tokens that a pack may use", count,
                     caps.tokens);
}

}  // namespace omnibal::verify
