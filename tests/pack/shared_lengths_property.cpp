// SPDX-License-Identifier: Apache-2.0
//
// auto on the two real length files: as few packs as provably needed where the vision cap binds.
#include <gtest/gtest.h>

#include <numeric>
#include <tuple>

#include "omnibal/metrics/pack_bound.h"
#include "omnibal/pack/auto.h"
#include "pack/placement.h"
#include "pack/shared_lengths.h"

namespace omnibal::pack {
namespace {

TEST(SharedLengths, AutoReachesTheBoundOrComesWithinThreePerMille) {
  const auto found = shared_lengths();
  if (!found) GTEST_SKIP() << kSharedLengths << " is not there";
  const Result<corpus::LoadedCorpus>& loaded = *found;
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const metrics::SampleColumns samples{loaded->corpus.vision, loaded->corpus.tokens};
  std::vector<std::uint32_t> accepted(samples.tokens.size());
  std::iota(accepted.begin(), accepted.end(), 0U);
  for (const auto& [vision_cap, bound, gap] :
       {std::tuple{9, 18935, 0.0}, {12, 10824, 0.0}, {15, 7932, 0.003}}) {
    const PackLimits limits = PackLimits::with_paper_floors(vision_cap, 4096);
    EXPECT_EQ(metrics::pack_lower_bound(samples, accepted, limits.caps()), bound);
    const Packs packs = pack_auto(samples, accepted, limits, 0, {});
    EXPECT_EQ(placement_fault(packs.view(), accepted), "");
    EXPECT_LE(static_cast<double>(packs.size()), bound * (1 + gap)) << vision_cap;
  }
}

}  // namespace
}  // namespace omnibal::pack
