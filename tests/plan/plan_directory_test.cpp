// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/plan_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>

#include "codec/scratch_directory.h"
#include "omnibal/plan/plan_pipeline.h"
#include "plan/small_plan.h"

namespace omnibal::plan {
namespace {

class PlanDirectory : public testing::Test {
 protected:
  void SetUp() override {
    corpus_ = small_corpus();
    Result<Plan> plan = plan_small(corpus_, small_request());
    ASSERT_TRUE(plan.ok());
    plan_ = *std::move(plan);
    const Status written = write_small(plan_, corpus_, directory_);
    ASSERT_TRUE(written.ok()) << to_text(written.error());
  }

  void write_column(const std::string& name, const std::vector<std::uint32_t>& values) {
    const std::array shape{static_cast<std::int64_t>(values.size())};
    ASSERT_TRUE(codec::write_npy<std::uint32_t>(directory_ + "/" + name, shape, values).ok());
  }

  ScratchDirectory scratch_;
  std::string directory_ = scratch_.path() + "/plan";
  corpus::Corpus corpus_;
  Plan plan_;
};

TEST_F(PlanDirectory, ReadsBackWhatWasWritten) {
  const auto read = PlanReader::open(directory_);
  ASSERT_TRUE(read.ok()) << to_text(read.error());
  EXPECT_THAT(read->pack_offsets(), testing::ElementsAreArray(plan_.data.grouping.packs.offsets));
  EXPECT_THAT(read->pack_samples(), testing::ElementsAreArray(plan_.data.grouping.packs.samples));
  EXPECT_THAT(read->pack_loads(), testing::ElementsAreArray(plan_.data.loads));
  EXPECT_EQ(read->steps()->pack_ids, plan_.data.steps->pack_ids);
  EXPECT_THAT(read->sample_tokens(), testing::ElementsAreArray(corpus_.tokens));
  EXPECT_EQ(read->profile()->layers.size(), plan_.profile.layers.size());
}

TEST_F(PlanDirectory, SimulatesAsItWasPredicted) {
  const auto read = PlanReader::open(directory_);
  ASSERT_TRUE(read.ok());
  const auto pipeline = read_pipeline(*read);
  ASSERT_TRUE(pipeline.ok()) << to_text(pipeline.error());
  EXPECT_EQ(pipeline->cuts, plan_.cuts);
  EXPECT_EQ(pipeline->recompute, plan_.recompute);
  double total = 0;
  for (const double s : step_seconds(pipeline->steps, *read->steps(), read->pack_loads(), 1)) {
    total += s;
  }
  EXPECT_DOUBLE_EQ(total / static_cast<double>(read->steps()->num_steps), plan_.prediction.step_s);
}

TEST_F(PlanDirectory, IsReplacedWhole) {
  DataPlan data = plan_.data;
  data.steps.reset();
  const Status packs_alone = write_plan({.corpus = corpus_, .data = data}, directory_);
  ASSERT_TRUE(packs_alone.ok()) << to_text(packs_alone.error());
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/steps.npy"));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/profile.json"));
}

TEST_F(PlanDirectory, NeverReplacesForeignFiles) {
  const std::string home = scratch_.path() + "/home";
  std::filesystem::create_directory(home);
  std::ofstream(home + "/thesis.txt") << "years of work";
  const Status written = write_small(plan_, corpus_, home);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, ErrorCode::kWouldOverwrite);
  EXPECT_TRUE(std::filesystem::exists(home + "/thesis.txt"));
}

TEST_F(PlanDirectory, RefusesArraysThatDisagreeInLength) {
  const std::vector<std::int64_t> short_column(3, 0);
  ASSERT_TRUE(codec::write_npy<std::int64_t>(directory_ + "/supervised.npy",
                                             std::array{std::int64_t{3}}, short_column)
                  .ok());
  const auto read = PlanReader::open(directory_);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kInvalidPlan);
  EXPECT_THAT(read.error().where.file, testing::EndsWith("supervised.npy"));
}

TEST_F(PlanDirectory, RefusesAStepTableWithAnEmptyExtent) {
  for (const auto& shape : {std::array<std::int64_t, 3>{0, 0, 0}, {3, 32, 0}, {0, 8, 2}}) {
    ASSERT_TRUE(codec::write_npy<std::int64_t>(directory_ + "/steps.npy", shape, {}).ok());
    const auto read = PlanReader::open(directory_);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code, ErrorCode::kInvalidPlan);
    EXPECT_THAT(read.error().where.file, testing::EndsWith("steps.npy"));
  }
}

TEST_F(PlanDirectory, RefusesLengthsWhoseSquaresWouldNotFit) {
  for (const char* name : {"sample_vision.npy", "sample_tokens.npy"}) {
    ASSERT_TRUE(write_small(plan_, corpus_, directory_).ok());
    std::vector<std::uint32_t> lengths = corpus_.tokens;
    lengths[5] = 0x7fffffff;
    write_column(name, lengths);
    EXPECT_TRUE(PlanReader::open(directory_).ok()) << name;
    lengths[5] = 0x80000000;
    write_column(name, lengths);
    const auto read = PlanReader::open(directory_);
    ASSERT_FALSE(read.ok()) << name;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalidPlan);
    EXPECT_THAT(read.error().where.file, testing::EndsWith(name));
    EXPECT_EQ(read.error().where.row, 5);
  }
}

/// What read_pipeline says of the plan as it lies there.
class PipelineOfADamagedPlan : public PlanDirectory {
 protected:
  Error error() {
    const auto read = PlanReader::open(directory_);
    EXPECT_TRUE(read.ok()) << to_text(read.error());
    const auto pipeline = read_pipeline(*read);
    EXPECT_FALSE(pipeline.ok());
    return pipeline.ok() ? Error(ErrorCode::kInternal, "accepted") : pipeline.error();
  }

  void edit_document(const std::function<void(codec::Json&)>& change) {
    codec::Json document = *codec::read_json(directory_ + "/plan.json");
    change(document);
    ASSERT_TRUE(codec::write_json(directory_ + "/plan.json", document).ok());
  }
};

TEST_F(PipelineOfADamagedPlan, NamesAnIdThatIsNoPack) {
  const steps::StepTable& table = *plan_.data.steps;
  for (const std::int64_t id :
       {std::int64_t{1'000'000'000'000}, plan_.data.grouping.packs.size(), std::int64_t{-2}}) {
    std::vector<std::int64_t> ids = table.pack_ids;
    ids[3] = id;
    const std::array shape{table.num_steps, table.micro_batches, table.dp};
    ASSERT_TRUE(codec::write_npy<std::int64_t>(directory_ + "/steps.npy", shape, ids).ok());
    const Error problem = error();
    EXPECT_EQ(problem.code, ErrorCode::kInvalidPlan);
    EXPECT_EQ(problem.where.file, "steps.npy");
    EXPECT_EQ(problem.where.row, 3);
    EXPECT_EQ(std::get<std::int64_t>(problem.value), id);
  }
}

TEST_F(PipelineOfADamagedPlan, NamesAPackWithALoadThatCannotBe) {
  for (const metrics::PackLoad& load :
       {metrics::PackLoad{-1, 10, 10}, metrics::PackLoad{1, 2'000'000'000, 10},
        metrics::PackLoad{1, 10, std::numeric_limits<std::int64_t>::max()}}) {
    std::vector<metrics::PackLoad> loads = plan_.data.loads;
    loads[2] = load;
    ASSERT_TRUE(
        codec::write_npy_bytes(directory_ + "/pack_load.npy", codec::DType::kI8,
                               std::array{static_cast<std::int64_t>(loads.size()), std::int64_t{3}},
                               std::as_bytes(std::span(loads)))
            .ok());
    const Error problem = error();
    EXPECT_EQ(problem.code, ErrorCode::kInvalidPlan);
    EXPECT_EQ(problem.where.file, "pack_load.npy");
    EXPECT_EQ(problem.where.row, 2);
  }
}

TEST_F(PipelineOfADamagedPlan, NamesALayerWhoseBytesCannotBeSummed) {
  plan_.profile.layers[3].activation_bytes.per_token_pair = 1e15;
  ASSERT_TRUE(cost::write_profile(plan_.profile, directory_ + "/profile.json").ok());
  const Error problem = error();
  EXPECT_EQ(problem.code, ErrorCode::kOutOfRange);
  EXPECT_EQ(problem.where.file, "profile.json");
  EXPECT_EQ(problem.where.key, "layers[3]");
}

TEST_F(PipelineOfADamagedPlan, SaysThatThePlanIsWrongNotTheUser) {
  edit_document([](codec::Json& plan) { plan["schedule"]["kind"] = "2f2b"; });
  EXPECT_EQ(error().code, ErrorCode::kInvalidPlan);
  edit_document([](codec::Json& plan) {
    plan["schedule"]["kind"] = "1f1b";
    plan["links"] = "mindless";
  });
  EXPECT_EQ(error().where.key, "links");
  edit_document([](codec::Json& plan) {
    plan["links"] = "model";
    plan["parallel"]["tp"] = 1 << 24;
  });
  EXPECT_EQ(error().where.key, "parallel");
}

TEST(PlanReader, NamesADirectoryThatIsNotThere) {
  const auto read = PlanReader::open("no/such/plan");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kFileNotFound);
  EXPECT_EQ(read.error().where.file, "no/such/plan");
}

}  // namespace
}  // namespace omnibal::plan
