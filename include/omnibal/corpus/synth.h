// SPDX-License-Identifier: Apache-2.0
//
// Synthetic corpora: sample lengths drawn from a recipe, for planning without data at hand.
//
//   OMNIBAL_ASSIGN(const Recipe recipe, preset_recipe("internvl-1.2m"));
//   const Corpus corpus = synthesize(recipe, /*seed=*/0, /*threads=*/0);
//   OMNIBAL_RETURN_IF_ERROR(write_corpus(corpus, "corpus"));
//
// Not a data set: there are lengths only. docs/formats/corpus.md describes recipe files and says
// what the presets approximate.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/corpus/corpus.h"

namespace omnibal::corpus {

/// `weight` need not add up to 1 over a part's choices.
struct UnitChoice {
  std::uint16_t units = 1;
  double weight = 1;
};

/// Log-normal; `mean` and `std` are its own, before values outside of [min, max] are redrawn.
struct TextLength {
  double mean = 1;
  double std = 0;
  std::int64_t min = 1;
  std::int64_t max = 1;
};

struct Part {
  std::string name;
  std::int64_t samples = 0;
  std::vector<UnitChoice> units;  // empty: text only, one blank unit without tokens
  TextLength text;
};

/// One source of the corpus. The samples of several parts are shuffled together.
struct Dataset {
  std::string name;
  std::vector<Part> parts;
};

/// tokens = min(max_tokens, text + unit.llm_tokens * units).
struct Recipe {
  std::string name;
  VisionUnit unit;
  std::int64_t max_tokens = 4096;
  std::vector<Dataset> datasets;
};

/// "internvl-1.2m", "llava-665k", "lcs-558k".
std::vector<std::string> preset_recipe_names();

/// Error: kUnknownPreset, naming those that exist.
Result<Recipe> preset_recipe(std::string_view name);

/// A recipe of one's own from a TOML file, checked. Errors: those of read_toml and JsonFields,
/// kDuplicateName, kOutOfRange.
Result<Recipe> read_recipe(const std::string& path);

std::int64_t num_samples(const Recipe& recipe);

/// The recipe with `samples` >= 1 samples in all: each part's share by largest remainder (a tie
/// goes to the earlier part).
Recipe scale_recipe(Recipe recipe, std::int64_t samples);

/// Draws the lengths of a checked recipe. Datasets in order; sample i depends on the seed and i
/// alone, so that the corpus is the same for any number of threads. O(samples).
Corpus synthesize(const Recipe& recipe, std::uint64_t seed, int threads);

}  // namespace omnibal::corpus
