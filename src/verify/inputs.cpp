// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "omnibal/corpus/corpus.h"
#include "truncated.h"

namespace omnibal::verify {
namespace {

using codec::Json;
using codec::JsonFields;

constexpr std::string_view kNotCompared =
    "the inputs are not there as they were planned: nothing to compare with, supervised tokens and "
    "sources are taken as given";

Json inputs_json(const corpus::LoadedCorpus& loaded) {
  Json inputs = Json::array();
  for (const corpus::InputFile& file : loaded.inputs) {
    inputs.push_back({{"path", file.path}, {"hash", file.hash}});
  }
  return inputs;
}

/// How sources were mixed; nothing if the options are none that a command would take.
std::optional<corpus::MixtureOptions> mixture_of(const Json& options, const Json& seed) {
  corpus::MixtureOptions mixture;
  if (!seed.is_number_unsigned()) return std::nullopt;
  mixture.seed = seed.get<std::uint64_t>();
  for (const Json& text : options.value("weights", Json::array())) {
    if (!text.is_string()) return std::nullopt;
    const auto weight = corpus::parse_source_weight(text.get<std::string>());
    if (!weight) return std::nullopt;
    mixture.weights.push_back(*weight);
  }
  const Json temperature = options.value("temperature", Json());
  if (temperature.is_number()) mixture.temperature = temperature.get<double>();
  const Json samples = options.value("epoch_samples", Json());
  if (samples.is_number_integer()) mixture.epoch_samples = samples.get<std::int64_t>();
  return mixture;
}

/// The corpus read again as it was typed; nothing if that fails or standard input was read.
std::optional<corpus::LoadedCorpus> read_again(const Json& options, const Json& seed) {
  std::vector<corpus::Input> inputs;
  for (const Json& text : options.value("input", Json::array())) {
    if (!text.is_string()) return std::nullopt;
    inputs.push_back(corpus::parse_input(text.get<std::string>()));
    if (inputs.back().path == "-") return std::nullopt;
  }
  if (inputs.empty()) return std::nullopt;
  const std::optional<corpus::MixtureOptions> mixture = mixture_of(options, seed);
  if (!mixture) return std::nullopt;
  const bool dummy = options.value("dummy", Json(false)) == Json(true);
  Result<corpus::LoadedCorpus> loaded =
      corpus::read_corpus(inputs, {.add_dummy = dummy, .mixture = *mixture}, {});
  if (!loaded) return std::nullopt;
  return *std::move(loaded);
}

/// Sums over each pack of what the inputs say of its samples, less what was cut off at worst.
Status compare_supervised(const plan::PlanReader& plan, std::vector<std::uint32_t> supervised,
                          const std::vector<Cut>& cuts) {
  OMNIBAL_RETURN_IF_ERROR(check_structure(plan));
  for (const Cut& cut : cuts)
    supervised[cut.sample] -= static_cast<std::uint32_t>(cut.from - cut.to);
  for (std::size_t p = 0; p < plan.supervised().size(); ++p) {
    std::int64_t sum = 0;
    for (std::int64_t i = plan.pack_offsets()[p]; i < plan.pack_offsets()[p + 1]; ++i) {
      const std::int64_t sample = plan.pack_samples()[static_cast<std::size_t>(i)];
      sum += supervised[static_cast<std::size_t>(sample)];
    }
    if (sum == plan.supervised()[p]) continue;
    return violation("supervised.npy has {} for pack {}, by the inputs it is {}",
                     plan.supervised()[p], p, sum);
  }
  return {};
}

/// The first sample at which a column differs.
template <class T>
Status compare(std::string_view name, std::span<const T> planned, const std::vector<T>& read) {
  if (planned.size() != read.size()) {
    return violation("the inputs have {} samples, the plan {}", read.size(), planned.size());
  }
  const auto [p, r] = std::ranges::mismatch(planned, read);
  if (p == planned.end()) return {};
  return violation("{}.npy has {} for sample {}, its input {}", name, *p, p - planned.begin(), *r);
}

/// The inputs' lengths, of the samples that are said to be cut those after the cut, each of which
/// must be one that the rule allows.
Status compare_tokens(const plan::PlanReader& plan, const corpus::Corpus& corpus,
                      const std::vector<Cut>& cuts, bool truncates) {
  if (!cuts.empty() && !truncates) {
    return violation("samples are cut, but over-long ones were not to be");
  }
  std::vector<std::uint32_t> tokens = corpus.tokens;
  for (const Cut& cut : cuts) {
    if (cut.sample >= tokens.size()) return violation("a sample is cut that no input has");
    if (tokens[cut.sample] != cut.from || !is_safe_cut(corpus, cut.sample, cut.to)) {
      return violation(
          "sample {} is cut from {} to {} tokens; its input has {}, {} of media and {} with a loss",
          cut.sample, cut.from, cut.to, tokens[cut.sample], media_tokens(corpus, cut.sample),
          corpus.supervised[cut.sample]);
    }
    tokens[cut.sample] = static_cast<std::uint32_t>(cut.to);
  }
  return compare("sample_tokens", plan.sample_tokens(), tokens);
}

/// Everything that depends on lengths, cuts and rejections.
Status compare_lengths(const plan::PlanReader& plan, const std::string& directory,
                       const corpus::Corpus& corpus, bool truncates) {
  OMNIBAL_ASSIGN(const std::vector<Cut> cuts, read_cuts(plan, directory));
  OMNIBAL_RETURN_IF_ERROR(compare("sample_vision", plan.sample_vision(), corpus.vision));
  OMNIBAL_RETURN_IF_ERROR(compare_tokens(plan, corpus, cuts, truncates));
  OMNIBAL_RETURN_IF_ERROR(compare_supervised(plan, corpus.supervised, cuts));
  return compare_rejections(plan, directory, corpus, truncates);
}

}  // namespace

Finding check_inputs(const plan::PlanReader& plan, const std::string& directory) {
  const JsonFields root(plan.document(), plan::plan_document_name());
  OMNIBAL_ASSIGN(const Json* provenance, root.object("provenance"));
  OMNIBAL_ASSIGN(const Json* described, root.object("corpus"));
  const JsonFields fields(*provenance, plan::plan_document_name(), "provenance");
  OMNIBAL_ASSIGN(const Json* options, fields.object("options"));
  OMNIBAL_ASSIGN(const Json* inputs, fields.array("inputs"));
  const std::optional<corpus::LoadedCorpus> loaded =
      read_again(*options, provenance->value("seed", Json()));
  if (!loaded || inputs_json(*loaded) != *inputs) return std::string(kNotCompared);
  OMNIBAL_RETURN_IF_ERROR(compare("sample_source", plan.sample_source(), loaded->corpus.source));
  OMNIBAL_RETURN_IF_ERROR(compare("sample_row", plan.sample_row(), loaded->corpus.row));
  const bool truncates = options->value("over_long", Json()) == Json("truncate");
  OMNIBAL_RETURN_IF_ERROR(compare_lengths(plan, directory, loaded->corpus, truncates));
  if (*described != corpus::describe(loaded->corpus)) {
    return violation("plan.json describes another corpus than its inputs");
  }
  return fmt::format("{} input files read again, every sample as planned", inputs->size());
}

}  // namespace omnibal::verify
