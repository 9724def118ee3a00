// SPDX-License-Identifier: Apache-2.0
//
// The fast version of the released code seeds the generator of the whole process, so that whatever
// else draws numbers there repeats itself, and its packs depend on who drew before.
#include <gtest/gtest.h>

#include <cstdlib>

#include "omnibal/pack/method.h"
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
    std::vector<std::pair<std::vector<std::uint32_t>, std::vector<std::int64_t>>> all;
    for (const std::string& name : method_names()) {
      const Grouping grouping =
          group_samples(*parse_method(name), samples.columns(), admission->accepted,
                        {.limits = limits, .micro_batches = {.dp = 4}, .seed = 5});
      const steps::StepOptions options{.dp = 4, .seed = 5};
      all.emplace_back(grouping.packs.samples,
                       steps::form_steps(grouping.loads(samples.columns()), options)->pack_ids);
    }
    return all;
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
