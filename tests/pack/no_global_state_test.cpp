// SPDX-License-Identifier: Apache-2.0
//
// The fast version of the released code seeds the generator of the whole process, so that whatever
// else draws numbers there repeats itself, and its packs depend on who drew before.
#include <gtest/gtest.h>

#include <cstdlib>

#include "omnibal/pack/isf.h"
#include "omnibal/steps/step_table.h"
#include "pack/placement.h"

namespace omnibal::pack {
namespace {

TEST(GlobalGenerator, IsNeitherSeededNorReadByPackingAndDealing) {
  TestSamples samples;
  for (std::uint32_t i = 0; i < 400; ++i) samples.add(1 + i % 5, 300 + 61 * i % 900);
  const PackLimits limits = PackLimits::with_paper_floors(9, 4096);
  const auto admission = admit(samples.columns(), limits, {});
  ASSERT_TRUE(admission.ok());
  const auto run = [&] {
    const Packs packs = pack_isf(samples.columns(), admission->accepted, limits, 5);
    const auto loads = metrics::packed_loads(packs.view(), samples.columns());
    return std::pair(packs.samples, steps::form_steps(loads, {.dp = 4, .seed = 5})->pack_ids);
  };
  std::srand(1);
  std::vector<int> expected;
  for (int i = 0; i < 4; ++i) expected.push_back(std::rand());
  std::srand(1);
  const auto once = run();
  for (const int value : expected) EXPECT_EQ(std::rand(), value);
  std::srand(2);
  EXPECT_EQ(run(), once);
}

}  // namespace
}  // namespace omnibal::pack
