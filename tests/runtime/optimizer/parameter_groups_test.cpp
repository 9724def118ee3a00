// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/optimizer/parameter_groups.h"

#include <gtest/gtest.h>

namespace omnibal::runtime {
namespace {

const std::vector<std::string> kNames = {
    "vision_tower.encoder.layer.0.layernorm_before.weight",
    "vision_tower.encoder.layer.0.attention.q_proj.weight",
    "multi_modal_projector.linear_1.weight",
    "multi_modal_projector.linear_1.bias",
    "language_model.model.norm.weight",
    "language_model.lm_head.weight",
};

TEST(ParameterGroups, FrozenPartsHaveNoGroupAndOthersShareTheirs) {
  const auto groups = group_parameters(
      kNames,
      {.lr = 1e-4, .weight_decay = 0.1, .frozen = {"vision"}, .part_lr = {{"projector", 1e-3}}});
  ASSERT_TRUE(groups.ok());
  const auto& of = groups->of_parameter;
  EXPECT_FALSE(of[0] || of[1]);
  EXPECT_EQ(groups->settings[*of[2]], (GroupSettings{1e-3, 0.1}));
  EXPECT_EQ(groups->settings[*of[3]], (GroupSettings{1e-3, 0}));
  EXPECT_EQ(groups->settings[*of[4]], (GroupSettings{1e-4, 0}));
  EXPECT_EQ(groups->settings[*of[5]], (GroupSettings{1e-4, 0.1}));
  EXPECT_EQ(groups->settings.size(), 4);
}

TEST(ParameterGroups, RulesForPartsThatDoNotExistAreRefused) {
  EXPECT_EQ(group_parameters(kNames, {.frozen = {"visoin"}}).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(group_parameters({"model.x"}, {}).error().code, ErrorCode::kUnsupportedModel);
}

TEST(ParameterGroups, NormsDoNotDecayAndLayerScalesDo) {
  EXPECT_EQ(decays("language_model.model.layers.0.self_attn.q_norm.weight"), false);
  EXPECT_EQ(decays("vision_tower.encoder.layer.0.lambda_1"), true);
}

}  // namespace
}  // namespace omnibal::runtime
