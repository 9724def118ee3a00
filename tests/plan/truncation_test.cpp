// SPDX-License-Identifier: Apache-2.0
//
// A plan with samples that were cut: every figure is of the length after the cut.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/scratch_directory.h"
#include "omnibal/plan/plan_directory.h"
#include "plan/small_plan.h"

namespace omnibal::plan {
namespace {

class TruncatedPlan : public testing::Test {
 protected:
  void SetUp() override {
    corpus_ = small_corpus();
    for (const std::size_t i : {7U, 77U}) {
      corpus_.vision[i] = 1;
      corpus_.tokens[i] = 5000;
      corpus_.supervised[i] = 4744;
    }
    PlanRequest request = small_request();
    request.data.admission.over_long = pack::OverLong::kTruncate;
    auto plan = plan_small(corpus_, request);
    ASSERT_TRUE(plan.ok()) << to_text(plan.error());
    plan_ = *std::move(plan);
  }

  corpus::Corpus corpus_;
  Plan plan_;
};

TEST_F(TruncatedPlan, ReleasedFaultTheTokenLengthIsReadBeforeTruncation) {
  EXPECT_THAT(plan_.data.admission.truncated,
              testing::ElementsAre(pack::Truncation{7, 5000, 4096, 3840},
                                   pack::Truncation{77, 5000, 4096, 3840}));
  const auto packs = plan_.data.grouping.packs.view();
  int alone = 0;
  for (std::int64_t p = 0; p < packs.size(); ++p) {
    const metrics::PackLoad& load = plan_.data.loads[static_cast<std::size_t>(p)];
    EXPECT_LE(load.tokens, 4096);
    if (packs[p][0] != 7 && packs[p][0] != 77) continue;
    ++alone;  // nothing fits beside it
    EXPECT_EQ(load, (metrics::PackLoad{1, 4096, 4096 * 4096}));
  }
  EXPECT_EQ(alone, 2);
  EXPECT_EQ(to_json(plan_, corpus_)["over_cap"], 0);
  EXPECT_EQ(corpus_.tokens[7], 5000U) << "the corpus stays what was read";
}

TEST_F(TruncatedPlan, WritesTheLengthsAfterTheCut) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(write_small(plan_, corpus_, scratch / "plan").ok());
  const auto read = PlanReader::open(scratch / "plan");
  ASSERT_TRUE(read.ok()) << to_text(read.error());
  EXPECT_EQ(read->sample_tokens()[7], 4096U);
  EXPECT_EQ(read->sample_tokens()[8], corpus_.tokens[8]);
  std::int64_t supervised = 0;
  for (const std::int64_t of_pack : read->supervised()) supervised += of_pack;
  std::int64_t expected = -2 * (5000 - 4096);
  for (const std::uint32_t of_sample : corpus_.supervised) expected += of_sample;
  EXPECT_EQ(supervised, expected);
}

TEST_F(TruncatedPlan, PredictsWithTheLengthsAfterTheCut) {
  corpus::Corpus short_corpus = corpus_;
  for (const std::size_t i : {7U, 77U}) short_corpus.tokens[i] = 4096;
  const auto other = plan_small(short_corpus, small_request());
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(plan_.prediction.gpu_days, other->prediction.gpu_days);
  EXPECT_EQ(plan_.prediction.mfu, other->prediction.mfu);
  EXPECT_EQ(plan_.bound_gpu_days, other->bound_gpu_days);
  for (std::size_t i = 0; i < plan_.ablation.size(); ++i) {
    EXPECT_EQ(plan_.ablation[i].gpu_days, other->ablation[i].gpu_days) << plan_.ablation[i].name;
  }
}

}  // namespace
}  // namespace omnibal::plan
