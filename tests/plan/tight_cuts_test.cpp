// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "plan/limit_prediction.h"
#include "plan/limit_task.h"

namespace omnibal::plan {
namespace {

/// Memory falls until cuts by time alone leave no room for the largest sample; cuts and
/// recomputation chosen together still do.
TEST(TightCuts, HoldSamplesForWhichCutsByTimeHaveNoRoom) {
  PhiloxRng rng(7, RngStream::kTest);
  const pack::TestSamples samples = image_samples(rng, 120);
  int tight = 0;
  for (std::int64_t memory = kAmple; memory > kAmple / 64; memory -= memory / 20) {
    TrainingTarget target = small_target(memory);
    target.sizes.pp = 4;
    const LimitTask task{.samples = samples.columns(), .target = target, .threads = 1};
    const auto problem = limit_problem(task);
    const metrics::PackCaps& all = problem->holding_all;
    if (fits_by_time(*problem, all)) continue;
    ASSERT_TRUE(problem->tight);
    const pack::PackLimits limits = task.asked.rules.at(all.vision_units, all.tokens);
    const auto fitted = fit_pipeline(*problem, limits, 1);
    if (!fitted) break;
    ++tight;
    EXPECT_LE(fitted->peak_bytes, memory);
    EXPECT_EQ(fitted->choice.cuts.size(), 3u);
    // One token less a pack: caps of their own share the cuts of their neighbours.
    pack::PackLimits smaller = limits;
    --smaller.token_cap;
    const auto shared = fit_pipeline(*problem, smaller, 1);
    ASSERT_TRUE(shared.ok());
    EXPECT_LE(shared->peak_bytes, memory);
  }
  EXPECT_GT(tight, 0);
}

}  // namespace
}  // namespace omnibal::plan
