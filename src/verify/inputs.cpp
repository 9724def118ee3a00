// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "checks.h"
#include "omnibal/corpus/corpus.h"

namespace omnibal::verify {
namespace {

using codec::Json;
using codec::JsonFields;

constexpr std::string_view kNotCompared =
    "the inputs are not there as they were planned: nothing to compare with";

Json inputs_json(const corpus::LoadedCorpus& loaded) {
  Json inputs = Json::array();
  for (const corpus::InputFile& file : loaded.inputs) {
    inputs.push_back({{"path", file.path}, {"hash", file.hash}});
  }
  return inputs;
}

/// The corpus read again as it was typed; nothing if that fails or standard input was read.
std::optional<corpus::LoadedCorpus> read_again(const Json& options) {
  std::vector<corpus::Input> inputs;
  for (const Json& text : options.value("input", Json::array())) {
    if (!text.is_string()) return std::nullopt;
    inputs.push_back(corpus::parse_input(text.get<std::string>()));
    if (inputs.back().path == "-") return std::nullopt;
  }
  if (inputs.empty()) return std::nullopt;
  const bool dummy = options.value("dummy", Json(false)) == Json(true);
  Result<corpus::LoadedCorpus> loaded = corpus::read_corpus(inputs, {.add_dummy = dummy}, {});
  if (!loaded) return std::nullopt;
  return *std::move(loaded);
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

}  // namespace

Finding check_inputs(const plan::PlanReader& plan) {
  const std::string document(plan::kPlanDocument);
  const JsonFields root(plan.document(), document);
  OMNIBAL_ASSIGN(const Json* provenance, root.object("provenance"));
  const JsonFields fields(*provenance, document, "provenance");
  OMNIBAL_ASSIGN(const Json* options, fields.object("options"));
  OMNIBAL_ASSIGN(const Json* inputs, fields.array("inputs"));
  const std::optional<corpus::LoadedCorpus> loaded = read_again(*options);
  if (!loaded || inputs_json(*loaded) != *inputs) return std::string(kNotCompared);
  OMNIBAL_RETURN_IF_ERROR(compare("sample_vision", plan.sample_vision(), loaded->corpus.vision));
  OMNIBAL_RETURN_IF_ERROR(compare("sample_tokens", plan.sample_tokens(), loaded->corpus.tokens));
  OMNIBAL_RETURN_IF_ERROR(compare("sample_source", plan.sample_source(), loaded->corpus.source));
  OMNIBAL_RETURN_IF_ERROR(compare("sample_row", plan.sample_row(), loaded->corpus.row));
  return fmt::format("{} input files read again, every sample as planned", inputs->size());
}

}  // namespace omnibal::verify
