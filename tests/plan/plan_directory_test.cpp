// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/plan_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

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
  std::ofstream(directory_ + "/stale.txt") << "from an older plan";
  ASSERT_TRUE(write_small(plan_, corpus_, directory_).ok());
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/stale.txt"));
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

TEST(PlanReader, NamesADirectoryThatIsNotThere) {
  const auto read = PlanReader::open("no/such/plan");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kFileNotFound);
  EXPECT_EQ(read.error().where.file, "no/such/plan");
}

}  // namespace
}  // namespace omnibal::plan
