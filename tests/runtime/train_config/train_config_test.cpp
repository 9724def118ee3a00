// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/train_config/train_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "omnibal/codec/toml.h"

namespace omnibal::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kMinimal = "model = 'm'\ndata = 'd'\nplan = '/abs/p'\n";

Result<TrainConfig> parse(const std::string& more) {
  OMNIBAL_ASSIGN(const codec::Json document, codec::parse_toml(kMinimal + more, "train.toml"));
  return parse_train_config(document, "runs/train.toml");
}

TEST(TrainConfig, ReadsEveryKey) {
  const auto config = parse(R"(
tp = 2
pp = 4
dp = 8
schedule = "zb-h1"
recompute = "full"
precision = "fp64"
loss = "square-root"
steps = 1000
epochs = 3
seed = 7
log = "log.jsonl"
[optimizer]
lr = 2e-5
part_lr = { vision = 1e-6 }
betas = [0.9, 0.95]
eps = 1e-9
weight_decay = 0.05
clip = 0
warmup = 30
schedule = "linear"
frozen = ["projector"]
[checkpoint]
dir = "../ckpt"
every = 10
keep = 0
)");
  ASSERT_TRUE(config.ok()) << to_text(config.error());
  EXPECT_EQ(config->model, "runs/m");
  EXPECT_EQ(config->plan, "/abs/p");
  EXPECT_EQ(config->tp * 100 + config->pp * 10 + config->dp, 248);
  EXPECT_EQ(config->schedule, schedule::ScheduleKind::kZbH1);
  EXPECT_EQ(config->recompute, RecomputeChoice::kFull);
  EXPECT_EQ(config->precision, Precision::kFp64);
  EXPECT_EQ(config->loss, LossMode::kSquareRoot);
  EXPECT_EQ(config->steps, 1000);
  EXPECT_EQ(config->epochs, 3);
  EXPECT_EQ(config->seed, 7);
  EXPECT_EQ(config->log, "runs/log.jsonl");
  EXPECT_EQ(config->optimizer.rules.lr, 2e-5);
  EXPECT_EQ(config->optimizer.rules.part_lr.at("vision"), 1e-6);
  EXPECT_EQ(config->optimizer.rules.weight_decay, 0.05);
  EXPECT_THAT(config->optimizer.rules.frozen, ElementsAre("projector"));
  EXPECT_EQ(config->optimizer.beta2, 0.95);
  EXPECT_EQ(config->optimizer.eps, 1e-9);
  EXPECT_EQ(config->optimizer.clip, 0);
  EXPECT_EQ(config->optimizer.warmup, 30);
  EXPECT_EQ(config->optimizer.schedule, ScheduleShape::kLinear);
  EXPECT_EQ(config->checkpoint.dir, "ckpt");
  EXPECT_EQ(config->checkpoint.every, 10);
  EXPECT_EQ(config->checkpoint.keep, 0);
}

TEST(TrainConfig, LeavesToThePlanWhatIsNotSaid) {
  const auto config = parse("");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->tp, 0);
  EXPECT_FALSE(config->schedule);
  EXPECT_EQ(config->recompute, RecomputeChoice::kPlan);
  EXPECT_TRUE(config->checkpoint.dir.empty());
}

struct BadKey {
  std::string text;
  ErrorCode code;
  std::string key, told;  // told: in the message or the hint
};

TEST(TrainConfig, OneErrorABadKeyNamesIt) {
  const std::vector<BadKey> cases = {
      {"shedule = '1f1b'", ErrorCode::kUnknownKey, "shedule", "\"schedule\""},
      {"[optimizer]\nwarm_up = 3", ErrorCode::kUnknownKey, "optimizer.warm_up",
       "\"optimizer.warmup\""},
      {"[optimiser]\nlr = 3", ErrorCode::kUnknownKey, "optimiser", "optimizer"},
      {"optimizer = 3", ErrorCode::kWrongType, "optimizer", "an object is needed"},
      {"tp = 0", ErrorCode::kOutOfRange, "tp", "at least 1"},
      {"tp = '2'", ErrorCode::kWrongType, "tp", "a whole number"},
      {"precision = 'fp16'", ErrorCode::kInvalidArgument, "precision", "fp64"},
      {"schedule = '1f2b'", ErrorCode::kInvalidArgument, "schedule", "1f1b"},
      {"loss = 'tokens'", ErrorCode::kInvalidArgument, "loss", "token"},
      {"[optimizer]\nlr = -1", ErrorCode::kOutOfRange, "optimizer.lr", "at least 0"},
      {"[optimizer]\nbetas = [0.9]", ErrorCode::kOutOfRange, "optimizer.betas", "two numbers"},
      {"[optimizer]\nbetas = [0.9, 1]", ErrorCode::kOutOfRange, "optimizer.betas", "below 1"},
      {"[optimizer]\nfrozen = [1]", ErrorCode::kWrongType, "optimizer.frozen", "names"},
      {"[optimizer]\npart_lr = { visoin = 1 }", ErrorCode::kUnknownKey, "optimizer.part_lr.visoin",
       "vision"},
      {"[checkpoint]\nevery = 0", ErrorCode::kOutOfRange, "checkpoint.every", "at least 1"},
      {"log = ''", ErrorCode::kOutOfRange, "log", "empty"},
  };
  for (const BadKey& bad : cases) {
    const auto config = parse(bad.text);
    ASSERT_FALSE(config.ok()) << bad.text;
    EXPECT_EQ(config.error().code, bad.code) << bad.text << to_text(config.error());
    EXPECT_EQ(config.error().where.key, bad.key) << bad.text;
    EXPECT_THAT(to_text(config.error()), HasSubstr(bad.told));
  }
  const auto document = codec::parse_toml("model = 'm'\nplan = 'p'", "train.toml");
  EXPECT_EQ(parse_train_config(*document, "train.toml").error().where.key, "data");
}

TEST(TrainConfig, EveryKeyIsAFlagThatWinsOverTheFile) {
  auto document = codec::parse_toml(kMinimal, "train.toml");
  const std::vector<std::pair<std::string, std::string>> flags = {
      {"model", "other"},
      {"data", "d"},
      {"plan", "p"},
      {"tp", "2"},
      {"pp", "1"},
      {"dp", "3"},
      {"schedule", "gpipe"},
      {"recompute", "none"},
      {"precision", "fp32"},
      {"loss", "sample"},
      {"steps", "5"},
      {"epochs", "2"},
      {"seed", "1"},
      {"log", "l"},
      {"watchdog", "30"},
      {"optimizer.lr", "1e-3"},
      {"optimizer.part_lr", "{ vision = 0.5 }"},
      {"optimizer.betas", "[0.8, 0.9]"},
      {"optimizer.eps", "1e-6"},
      {"optimizer.weight_decay", "0.1"},
      {"optimizer.clip", "2"},
      {"optimizer.warmup", "4"},
      {"optimizer.schedule", "constant"},
      {"optimizer.frozen", "['vision']"},
      {"checkpoint.dir", "c"},
      {"checkpoint.every", "9"},
      {"checkpoint.keep", "1"}};
  EXPECT_EQ(flags.size(), train_keys().size());
  for (const auto& [key, text] : flags) {
    EXPECT_TRUE(override_key(*document, key, text).ok()) << key;
  }
  const auto config = parse_train_config(*document, "runs/train.toml");
  ASSERT_TRUE(config.ok()) << to_text(config.error());
  EXPECT_EQ(config->model, std::filesystem::absolute("other").string());
  EXPECT_EQ(config->tp, 2);
  EXPECT_EQ(config->optimizer.rules.part_lr.at("vision"), 0.5);
  EXPECT_EQ(config->optimizer.beta1, 0.8);
  EXPECT_EQ(config->checkpoint.keep, 1);
  EXPECT_EQ(override_key(*document, "optimizer.lrs", "1").error().code, ErrorCode::kUnknownKey);
}

}  // namespace
}  // namespace omnibal::runtime
