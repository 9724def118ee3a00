// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "codec/scratch_directory.h"
#include "omnibal/corpus/synth.h"

namespace omnibal::corpus {
namespace {

constexpr std::string_view kWhole = R"(
name = "mine"
max_tokens = 8192
[unit]
name = "image-336"
vision_tokens = 577
llm_tokens = 576
[[dataset]]
name = "pictures"
[[dataset.part]]
name = "scans"
samples = 100
units = { "1" = 0.25, "12" = 0.5, "3" = 0.25 }
text = { mean = 100, std = 30.5, min = 10, max = 400 }
[[dataset.part]]
samples = 50
text_only = true
text = { mean = 1000, std = 900, min = 40, max = 4096 }
[[dataset]]
name = "more"
[[dataset.part]]
samples = 7
units = { "1" = 1 }
text = { mean = 100, std = 0, min = 10, max = 400 }
)";

Result<Recipe> read_text(std::string_view text) {
  const ScratchDirectory scratch;
  return read_recipe(scratch.write("r.toml", text));
}

/// kWhole with one text in place of another.
Error error_of(std::string_view before, std::string_view after) {
  std::string text(kWhole);
  const std::size_t at = text.find(before);
  EXPECT_NE(at, std::string::npos) << before;
  const Result<Recipe> recipe = read_text(text.replace(at, before.size(), after));
  if (recipe.ok()) return {ErrorCode::kInternal, "was accepted"};
  return recipe.error();
}

TEST(CorpusRecipeFile, IsReadWhole) {
  const Result<Recipe> recipe = read_text(kWhole);
  ASSERT_TRUE(recipe.ok()) << to_text(recipe.error());
  EXPECT_EQ(recipe->name, "mine");
  EXPECT_EQ(recipe->max_tokens, 8192);
  EXPECT_EQ(recipe->unit.llm_tokens, 576);
  EXPECT_EQ(num_samples(*recipe), 157);
  ASSERT_EQ(recipe->datasets.size(), 2U);
  const Part& scans = recipe->datasets[0].parts[0];
  ASSERT_EQ(scans.units.size(), 3U);
  EXPECT_EQ(scans.units[0].units, 1);
  EXPECT_EQ(scans.units[2].units, 12);  // by number, not as text
  EXPECT_EQ(scans.units[2].weight, 0.5);
  EXPECT_EQ(scans.text.std, 30.5);
  EXPECT_TRUE(recipe->datasets[0].parts[1].units.empty());
  EXPECT_EQ(synthesize(*recipe, 0, 1).size(), 157);
}

TEST(CorpusRecipeFile, UnitAndMaximumMayBeLeftOut) {
  const Result<Recipe> recipe = read_text(
      "name = \"x\"\n[[dataset]]\nname = \"d\"\n[[dataset.part]]\nsamples = 1\nunits = { \"1\" = 1 "
      "}\n"
      "text = { mean = 9, std = 1, min = 1, max = 99 }\n");
  ASSERT_TRUE(recipe.ok()) << to_text(recipe.error());
  EXPECT_EQ(recipe->unit.name, "tile-448");
  EXPECT_EQ(recipe->max_tokens, 4096);
}

TEST(CorpusRecipeFile, NamesTheKeyOfEveryMistake) {
  struct Mistake {
    std::string_view before, after;
    ErrorCode code;
    std::string_view key;
  };
  const std::vector<Mistake> mistakes = {
      {"name = \"mine\"", "", ErrorCode::kMissingKey, "name"},
      {"max_tokens", "max_token", ErrorCode::kUnknownKey, "max_token"},
      {"max_tokens = 8192", "max_tokens = 0", ErrorCode::kOutOfRange, "max_tokens"},
      {"llm_tokens = 576", "llm_tokens = -1", ErrorCode::kOutOfRange, "unit.llm_tokens"},
      {"name = \"more\"", "name = \"pictures\"", ErrorCode::kDuplicateName, "dataset[1].name"},
      {"samples = 100", "samples = 0", ErrorCode::kOutOfRange, "dataset[0].part[0].samples"},
      {"samples = 100", "samples = 1.5", ErrorCode::kWrongType, "dataset[0].part[0].samples"},
      {"samples = 50", "samples = 2147483647", ErrorCode::kOutOfRange, "dataset"},
      {"\"12\" = 0.5", "\"0\" = 0.5", ErrorCode::kOutOfRange, "dataset[0].part[0].units.0"},
      {"\"12\" = 0.5", "\"x\" = 0.5", ErrorCode::kOutOfRange, "dataset[0].part[0].units.x"},
      {"\"12\" = 0.5", "\"12\" = -1", ErrorCode::kOutOfRange, "dataset[0].part[0].units.12"},
      {"\"12\" = 0.5", "\"12\" = nan", ErrorCode::kOutOfRange, "dataset[0].part[0].units.12"},
      {"{ \"1\" = 1 }", "{ \"1\" = 0 }", ErrorCode::kOutOfRange, "dataset[1].part[0].units"},
      {"{ \"1\" = 1 }", "{}", ErrorCode::kOutOfRange, "dataset[1].part[0].units"},
      {"units = { \"1\" = 1 }", "", ErrorCode::kMissingKey, "dataset[1].part[0].units"},
      {"text_only = true", "text_only = true\nunits = { \"1\" = 1 }", ErrorCode::kConflictingKeys,
       "dataset[0].part[1].units"},
      {"std = 30.5", "std = -1", ErrorCode::kOutOfRange, "dataset[0].part[0].text.std"},
      {"mean = 100, std = 30.5", "mean = inf, std = 30.5", ErrorCode::kOutOfRange,
       "dataset[0].part[0].text.mean"},
      {"min = 10, max = 400", "min = 400, max = 10", ErrorCode::kOutOfRange,
       "dataset[0].part[0].text.max"},
      {"min = 10, max = 400", "min = 390, max = 400", ErrorCode::kOutOfRange,
       "dataset[0].part[0].text.mean"},
  };
  for (const Mistake& mistake : mistakes) {
    const Error error = error_of(mistake.before, mistake.after);
    EXPECT_EQ(error_code_info(error.code).name, error_code_info(mistake.code).name)
        << mistake.after << ": " << error.message;
    EXPECT_EQ(error.where.key, mistake.key) << mistake.after;
    EXPECT_THAT(error.where.file, testing::EndsWith("r.toml"));
  }
}

TEST(CorpusRecipeFile, NeedsADataset) {
  EXPECT_EQ(read_text("name = \"x\"\ndataset = []\n").error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(read_text("name = \"x\"\n").error().code, ErrorCode::kMissingKey);
  EXPECT_EQ(read_text("name = ").error().code, ErrorCode::kMalformedToml);
}

}  // namespace
}  // namespace omnibal::corpus
