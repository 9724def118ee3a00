// SPDX-License-Identifier: Apache-2.0
#include "omnibal/cost/recompute_choices.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "codec/scratch_directory.h"

namespace omnibal::cost {
namespace {

/// A profile of two layers, the first with these choices.
std::string text_with(const std::string& choices) {
  return fmt::format(
      R"({{"format": "omnibal.profile", "version": 1,
           "load": {{"vision_units": 1, "tokens": 10, "token_pairs": 100}},
           "layers": [
        {{"name": "a", "forward_s": 1, "activation_bytes": {{"per_token": 10}},
          "recomputed_bytes": 5, "recompute_choices": {}}},
        {{"name": "b", "forward_s": 2, "activation_bytes": 50, "recomputed_bytes": 5}}]}})",
      choices);
}

Profile read(const std::string& choices) {
  Result<Profile> profile = parse_profile(text_with(choices), "p.json");
  EXPECT_TRUE(profile.ok()) << to_text(profile.error());
  return *std::move(profile);
}

Error refused(const std::string& choices) {
  Result<Profile> profile = parse_profile(text_with(choices), "p.json");
  EXPECT_FALSE(profile.ok());
  EXPECT_EQ(profile.error().where.file, "p.json");
  return std::move(profile).error();
}

const std::string kTwo = R"([
  {"name": "mlp", "recompute_s": {"per_token": 0.01}, "kept_bytes": 40, "transient_bytes": 60},
  {"name": "offload", "recompute_s": 0.5, "kept_bytes": 0}])";

TEST(RecomputeChoices, AreReadWithTheirDefaults) {
  const Profile profile = read(kTwo);
  const auto costs = evaluate_choices(profile, profile.load);
  ASSERT_EQ(costs[0].size(), 2U);
  EXPECT_DOUBLE_EQ(costs[0][0].recompute_s, 0.1);
  EXPECT_EQ(costs[0][0].kept_bytes, 40);
  EXPECT_EQ(costs[0][0].transient_bytes, 60);
  EXPECT_EQ(costs[0][1].transient_bytes, 100);  // the whole activation
  EXPECT_TRUE(costs[1].empty());
}

TEST(RecomputeChoices, ComeBackFromAFile) {
  const ScratchDirectory directory;
  Profile profile = read(kTwo);
  profile.layers[1].transient_bytes = LinearCost{.constant = 7, .per_token = 1};
  const std::string path = directory.path() + "/p.json";
  ASSERT_TRUE(write_profile(profile, path).ok());
  const Result<Profile> again = read_profile(path);
  ASSERT_TRUE(again.ok()) << to_text(again.error());
  ASSERT_EQ(again->layers[0].recompute_choices.size(), 2U);
  for (std::size_t c = 0; c < 2; ++c) {
    const RecomputeChoice& a = profile.layers[0].recompute_choices[c];
    const RecomputeChoice& b = again->layers[0].recompute_choices[c];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.recompute_s, b.recompute_s);
    EXPECT_EQ(a.kept_bytes, b.kept_bytes);
    EXPECT_EQ(a.transient_bytes, b.transient_bytes);
  }
  EXPECT_EQ(again->layers[1].transient_bytes, profile.layers[1].transient_bytes);
}

TEST(RecomputeChoices, AreRefusedWithTheirPlace) {
  Error error = refused(R"([{"name": "mlp", "recompute_s": 1, "kept_bytes": 1},
                            {"name": "mlp", "recompute_s": 2, "kept_bytes": 0}])");
  EXPECT_EQ(error.code, ErrorCode::kDuplicateName);
  EXPECT_EQ(error.where.key, "layers[0].recompute_choices[1].name");
  error = refused(R"([{"name": "full", "recompute_s": 1, "kept_bytes": 1}])");
  EXPECT_EQ(error.code, ErrorCode::kOutOfRange);
  error = refused(R"([{"name": "mlp", "recompute_s": 1, "kept_bytes": 101}])");
  EXPECT_EQ(error.code, ErrorCode::kOutOfRange);
  EXPECT_EQ(error.where.key, "layers[0].recompute_choices[0].kept_bytes");
  EXPECT_EQ(std::get<double>(error.limit), 100);
  error = refused(R"([{"name": "mlp", "recompute_s": -1, "kept_bytes": 1}])");
  EXPECT_EQ(error.code, ErrorCode::kOutOfRange);
  error = refused(R"([{"name": "mlp", "recompute_s": {"per_tokens": 1}, "kept_bytes": 1}])");
  EXPECT_EQ(error.code, ErrorCode::kUnknownKey);
  error = refused(R"([{"name": "mlp", "kept_bytes": 1}])");
  EXPECT_EQ(error.code, ErrorCode::kMissingKey);
  error = refused(R"([{"name": "mlp", "recompute_s": 1, "kept_bytes": 1, "saved": 3}])");
  EXPECT_EQ(error.code, ErrorCode::kUnknownKey);
  error = refused(R"({"mlp": 3})");
  EXPECT_EQ(error.code, ErrorCode::kWrongType);
}

TEST(RecomputeChoices, TakenReplaceFullRecomputation) {
  const Profile profile = read(kTwo);
  const Profile chosen = with_choices(profile, {2, 1});
  const auto costs = evaluate(chosen, profile.load);
  EXPECT_DOUBLE_EQ(costs[0].recompute_s, 0.1);
  EXPECT_EQ(costs[0].recomputed_bytes, 40);
  EXPECT_EQ(costs[0].transient(), 60);
  EXPECT_EQ(costs[0].activation_bytes, 100);
  EXPECT_EQ(costs[1].recomputed_bytes, 5);
  EXPECT_EQ(costs[1].transient(), 50);
  EXPECT_TRUE(chosen.layers[0].recompute_choices.empty());
}

TEST(RecomputeChoices, OfAFrozenBeginningAreNone) {
  Profile profile = read(kTwo);
  profile.layers[0].trainable = false;
  EXPECT_TRUE(evaluate_choices(profile, profile.load)[0].empty());
  EXPECT_TRUE(layer_times(profile)[0].choice_s.empty());
  EXPECT_EQ(evaluate(with_choices(profile, {2, 0}), profile.load)[0].recomputed_bytes, 0);
}

TEST(RecomputeChoices, HaveNamesBothWays) {
  const Profile profile = read(kTwo);
  const LayerChoices choices{3, 1};
  const auto named = named_choices(profile, choices);
  EXPECT_THAT(named, testing::ElementsAre(NamedChoice{0, "offload"}));
  EXPECT_EQ(*choices_of(profile, {false, true}, named), choices);
  EXPECT_EQ(spares_memory({0, 2}), (std::vector<bool>{false, true}));
  const auto code = [&](const std::vector<bool>& recompute, const NamedChoice& one) {
    return choices_of(profile, recompute, {one}).error().code;
  };
  EXPECT_EQ(code({true, false}, {0, "mlp"}), ErrorCode::kConflictingKeys);
  EXPECT_EQ(code({false, false}, {0, "norms"}), ErrorCode::kOutOfRange);
  EXPECT_EQ(code({false, false}, {1, "mlp"}), ErrorCode::kOutOfRange);
  EXPECT_EQ(code({false, false}, {2, "mlp"}), ErrorCode::kOutOfRange);
}

TEST(RecomputeChoices, OfASet) {
  const auto names = [](ChoiceSet set) {
    Profile profile = read(kTwo);
    keep_choices(profile, set);
    std::vector<std::string> kept;
    for (const auto& choice : profile.layers[0].recompute_choices) kept.push_back(choice.name);
    return kept;
  };
  EXPECT_THAT(names(ChoiceSet::kFull), testing::IsEmpty());
  EXPECT_THAT(names(ChoiceSet::kSelective), testing::ElementsAre("mlp"));
  EXPECT_THAT(names(ChoiceSet::kOffload), testing::ElementsAre("mlp", "offload"));
}

}  // namespace
}  // namespace omnibal::cost
