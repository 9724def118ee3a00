// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/train/checkpoint.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "omnibal/codec/files.h"
#include "omnibal/runtime/comm/thread_ranks.h"
#include "runtime/train/small_training.h"

namespace omnibal::runtime {
namespace {

using namespace small_training;

namespace fs = std::filesystem;

constexpr int kHalf = 3;
const Case kEightRanks = {.layout = {.dp = 2, .pp = 2, .tp = 2}, .cut = 4};

/// Three steps in eight ranks, saved; what six steps of one rank give.
struct Halfway {
  explicit Halfway(const std::string& json)
      : one(train({}, json, nullptr, {.num_steps = 2 * kHalf})) {
    train(kEightRanks, json, nullptr, {.num_steps = kHalf, .save_to = folder / "half"});
  }

  Course rest(const std::string& save_to = "") const {
    return {.first_step = kHalf,
            .num_steps = kHalf,
            .load_from = *latest_checkpoint(folder / "half"),
            .save_to = save_to};
  }

  ScratchDirectory folder;
  Outcome one;
};

class RuntimeCheckpoint : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(RuntimeCheckpoint, ResumesOnAnotherLayout) {
  const auto& [model, layout] = GetParam();
  const std::string& json = kModels[static_cast<std::size_t>(model)].json;
  const Halfway halfway(json);
  const Case chosen = layout < 0 ? Case{} : kLayouts[static_cast<std::size_t>(layout)];
  const Outcome rest = train(chosen, json, &halfway.one, halfway.rest());
  ASSERT_EQ(rest.losses.size(), kHalf);
  for (std::size_t i = 0; i < kHalf; ++i) {
    EXPECT_NEAR(rest.losses[i], halfway.one.losses[kHalf + i], 1e-12 * rest.losses[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RuntimeCheckpoint,
                         testing::Combine(testing::Values(0, 1), testing::Values(-1, 1, 2, 3, 6)));

TEST(RuntimeCheckpointFiles, TheSameLayoutResumesToTheLastBit) {
  const std::string& json = kModels[0].json;
  const Halfway halfway(json);
  const ScratchDirectory& folder = halfway.folder;
  const Outcome whole =
      train(kEightRanks, json, nullptr, {.num_steps = 2 * kHalf, .save_to = folder / "whole"});
  const Outcome rest = train(kEightRanks, json, nullptr, halfway.rest(folder / "rest"));
  EXPECT_EQ(std::vector(whole.losses.begin() + kHalf, whole.losses.end()), rest.losses);
  EXPECT_EQ(std::vector(whole.norms.begin() + kHalf, whole.norms.end()), rest.norms);
  for (int r = 0; r < 8; ++r) {
    const std::string name = "/step-00000006/rank-" + std::to_string(r) + ".safetensors";
    EXPECT_EQ(*codec::read_file(folder / "whole" + name),
              *codec::read_file(folder / "rest" + name));
  }
}

/// A stage alone in the world, with its optimizer.
struct Alone {
  Alone() : config(sample_config(scratch, kModels[0].json)) {
    write_sample_weights(scratch, config);
    stage = sample_stage(scratch, config, nullptr);
    TrainedStage trained = *trained_parameters(stage.parameters, {.lr = 0.1}, {});
    optimizer = *Optimizer::make(trained.parameters, {.groups = trained.groups}, *world, *world);
  }
  CheckpointContent content() { return {*optimizer, stage.parameters}; }
  Status save(std::int64_t step) {
    optimizer->set_step(step);
    return save_checkpoint(scratch / "saved", content(), *world, 2);
  }

  ScratchDirectory scratch;
  ModelConfig config;
  std::unique_ptr<Communicator> world = std::move(make_thread_world(1).front());
  Stage stage;
  std::unique_ptr<Optimizer> optimizer;
};

TEST(RuntimeCheckpointFiles, TheLastOnesAreKept) {
  Alone alone;
  EXPECT_FALSE(latest_checkpoint(alone.scratch / "saved"));
  for (const std::int64_t step : {5, 90, 100, 100}) ASSERT_TRUE(alone.save(step).ok());
  EXPECT_EQ(latest_checkpoint(alone.scratch / "saved"), alone.scratch / "saved/step-00000100");
  EXPECT_TRUE(fs::exists(alone.scratch / "saved/step-00000090"));
  EXPECT_FALSE(fs::exists(alone.scratch / "saved/step-00000005"));
}

TEST(RuntimeCheckpointFiles, AFolderThatIsNotWholeIsNoCheckpoint) {
  Alone alone;
  ASSERT_TRUE(alone.save(1).ok());
  alone.scratch.write("saved/step-00000002/rank-0.safetensors", "a save that was killed");
  fs::copy(alone.scratch / "saved/step-00000001", alone.scratch / "saved/step-old");
  EXPECT_EQ(latest_checkpoint(alone.scratch / "saved"), alone.scratch / "saved/step-00000001");
}

TEST(RuntimeCheckpointFiles, DamageIsToldByName) {
  Alone alone;
  ASSERT_TRUE(alone.save(1).ok());
  const std::string folder = alone.scratch / "saved/step-00000001";
  const std::string file = folder + "/rank-0.safetensors";
  const auto load = [&] {
    return load_checkpoint(*read_checkpoint_head(folder), alone.content()).error();
  };
  Stage half = make_stage(alone.config, {.end = 4, .type = at::kDouble});
  TrainedStage trained = *trained_parameters(half.parameters, {}, {});
  auto optimizer =
      *Optimizer::make(trained.parameters, {.groups = trained.groups}, *alone.world, *alone.world);
  ASSERT_TRUE(
      save_checkpoint(alone.scratch / "less", {*optimizer, half.parameters}, *alone.world, 0).ok());
  fs::copy_file(alone.scratch / "less/step-00000000/rank-0.safetensors", file,
                fs::copy_options::overwrite_existing);
  EXPECT_EQ(load().code, ErrorCode::kMissingTensor);
  EXPECT_FALSE(load().where.key.empty());
  fs::resize_file(file, fs::file_size(file) - 8);
  EXPECT_EQ(load().code, ErrorCode::kMalformedSafetensors);
  fs::remove(file);
  EXPECT_EQ(load().code, ErrorCode::kFileNotFound);
}

TEST(RuntimeCheckpointFiles, WhereNothingCanBeWrittenEveryRankHasAnError) {
  Alone alone;
  alone.scratch.write("saved", "a file where the folder would be");
  EXPECT_FALSE(alone.save(1).ok());
}

}  // namespace
}  // namespace omnibal::runtime
