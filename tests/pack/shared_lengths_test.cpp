// SPDX-License-Identifier: Apache-2.0
//
// ISF on the two real length files, against what the paper's released code makes of them.
#include <gtest/gtest.h>

#include <numeric>

#include "omnibal/metrics/occupancy.h"
#include "omnibal/pack/isf.h"
#include "pack/placement.h"
#include "pack/shared_lengths.h"

namespace omnibal::pack {
namespace {

TEST(SharedLengths, IsfMakesAsManyPacksAsTheReleasedCode) {
  const auto found = shared_lengths();
  if (!found) GTEST_SKIP() << kSharedLengths << " is not there";
  const Result<corpus::LoadedCorpus>& loaded = *found;
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const metrics::SampleColumns samples{loaded->corpus.vision, loaded->corpus.tokens};
  ASSERT_EQ(samples.tokens.size(), 30730U);
  for (const auto& [vision_cap, packs_of_released_code] :
       {std::pair{9, 18987.0}, {12, 11063.0}, {15, 8065.0}}) {
    const PackLimits limits = PackLimits::with_paper_floors(vision_cap, 4096);
    const auto admission = admit(samples, limits, {});
    ASSERT_TRUE(admission.ok());
    const Packs packs = pack_isf(samples, admission->accepted, limits, 0);
    EXPECT_EQ(placement_fault(packs.view(), admission->accepted), "");
    EXPECT_NEAR(static_cast<double>(packs.size()), packs_of_released_code,
                0.005 * packs_of_released_code)
        << vision_cap;
  }
}

}  // namespace
}  // namespace omnibal::pack
