// SPDX-License-Identifier: Apache-2.0
//
// ISF on the two real length files, against what the paper's released code makes of them.
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "omnibal/corpus/corpus.h"
#include "omnibal/metrics/occupancy.h"
#include "omnibal/pack/isf.h"
#include "pack/placement.h"

namespace omnibal::pack {
namespace {

TEST(SharedLengths, IsfMakesAsManyPacksAsTheReleasedCode) {
  const std::string directory = std::string(OMNIBAL_SHARED_DATA) + "/lengths/";
  if (!std::filesystem::is_directory(directory)) GTEST_SKIP() << directory << " is not there";
  const auto loaded =
      corpus::read_corpus({{directory + "ai2d_train_12k_wh_token_lengths.json", ""},
                           {directory + "chartqa_train_18k_wh_token_lengths.json", ""}},
                          {}, {});
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
