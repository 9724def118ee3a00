// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "checks.h"
#include "omnibal/corpus/corpus.h"

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

/// Sums over each pack of what the inputs say of its samples.
Status compare_supervised(const plan::PlanReader& plan, const corpus::Corpus& corpus) {
  OMNIBAL_RETURN_IF_ERROR(check_structure(plan));
  for (std::size_t p = 0; p < plan.supervised().size(); ++p) {
    std::int64_t sum = 0;
    for (std::int64_t i = plan.pack_offsets()[p]; i < plan.pack_offsets()[p + 1]; ++i) {
      const std::int64_t sample = plan.pack_samples()[static_cast<std::size_t>(i)];
      sum += corpus.supervised[static_cast<std::size_t>(sample)];
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

}  // namespace

Finding check_inputs(const plan::PlanReader& plan) {
  const JsonFields root(plan.document(), document_name());
  OMNIBAL_ASSIGN(const Json* provenance, root.object("provenance"));
  OMNIBAL_ASSIGN(const Json* described, root.object("corpus"));
  const JsonFields fields(*provenance, document_name(), "provenance");
  OMNIBAL_ASSIGN(const Json* options, fields.object("options"));
  OMNIBAL_ASSIGN(const Json* inputs, fields.array("inputs"));
  const std::optional<corpus::LoadedCorpus> loaded = read_again(*options);
  if (!loaded || inputs_json(*loaded) != *inputs) return std::string(kNotCompared);
  OMNIBAL_RETURN_IF_ERROR(compare("sample_vision", plan.sample_vision(), loaded->corpus.vision));
  OMNIBAL_RETURN_IF_ERROR(compare("sample_tokens", plan.sample_tokens(), loaded->corpus.tokens));
  OMNIBAL_RETURN_IF_ERROR(compare("sample_source", plan.sample_source(), loaded->corpus.source));
  OMNIBAL_RETURN_IF_ERROR(compare("sample_row", plan.sample_row(), loaded->corpus.row));
  OMNIBAL_RETURN_IF_ERROR(compare_supervised(plan, loaded->corpus));
  if (*described != corpus::describe(loaded->corpus)) {
    return violation("plan.json describes another corpus than its inputs");
  }
  return fmt::format("{} input files read again, every sample as planned", inputs->size());
}

}  // namespace omnibal::verify
