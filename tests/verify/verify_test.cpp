// SPDX-License-Identifier: Apache-2.0
//
// Each kind of damage is named by the check that is there for it. tests/python/test_verify.py
// damages plans through the program in many more ways.
#include "omnibal/verify/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "codec/scratch_directory.h"
#include "plan/small_plan.h"

namespace omnibal::verify {
namespace {

using testing::Contains;
using testing::IsEmpty;

class VerifyPlan : public testing::Test {
 protected:
  void SetUp() override {
    const corpus::Corpus corpus = plan::small_corpus();
    const auto plan = plan::plan_small(corpus, plan::small_request());
    ASSERT_TRUE(plan.ok());
    ASSERT_TRUE(plan::write_small(*plan, corpus, directory_).ok());
  }

  std::vector<std::string> failed_checks(bool ignore_checksums = true) {
    const auto verdict = verify_plan(directory_, {.ignore_checksums = ignore_checksums});
    std::vector<std::string> names;
    for (const Check& check : verdict->checks) {
      if (!check.ok) names.push_back(check.name);
    }
    return names;
  }

  void edit_document(const std::function<void(codec::Json&)>& change) {
    const std::string path = directory_ + "/plan.json";
    codec::Json document = *codec::read_json(path);
    change(document);
    ASSERT_TRUE(codec::write_json(path, document).ok());
  }

  template <class T>
  void edit_array(const std::string& name, std::size_t dimensions,
                  const std::function<void(std::vector<T>&)>& change) {
    std::vector<std::int64_t> shape;
    std::vector<T> values;
    {
      const auto file = codec::NpyFile::open(directory_ + "/" + name);
      const auto span = file->as<T>(dimensions);
      values.assign(span->begin(), span->end());
      shape = file->shape();
    }
    change(values);
    ASSERT_TRUE(codec::write_npy<T>(directory_ + "/" + name, shape, values).ok());
  }

  ScratchDirectory scratch_;
  std::string directory_ = scratch_.path() + "/plan";
};

TEST_F(VerifyPlan, AGoodPlanHolds) { EXPECT_THAT(failed_checks(false), IsEmpty()); }

TEST_F(VerifyPlan, AChangedByteFailsItsChecksum) {
  std::fstream file(directory_ + "/steps.npy", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file.put('\x55');
  file.close();
  EXPECT_THAT(failed_checks(false), Contains("checksums"));
}

TEST_F(VerifyPlan, ASampleTwice) {
  edit_array<std::int64_t>("pack_samples.npy", 1, [](auto& ids) { ids[0] = ids[1]; });
  EXPECT_THAT(failed_checks(), Contains("exactly_once"));
}

TEST_F(VerifyPlan, ASampleOutOfRange) {
  edit_array<std::int64_t>("pack_samples.npy", 1, [](auto& ids) { ids[0] = 600; });
  EXPECT_THAT(failed_checks(), Contains("exactly_once"));
}

TEST_F(VerifyPlan, APackTwice) {
  edit_array<std::int64_t>("steps.npy", 3, [](auto& ids) { ids[0] = ids[1]; });
  EXPECT_THAT(failed_checks(), Contains("steps"));
}

TEST_F(VerifyPlan, APackOutOfRange) {
  edit_array<std::int64_t>("steps.npy", 3, [](auto& ids) { ids[0] = 1'000'000; });
  EXPECT_THAT(failed_checks(), Contains("steps"));
}

TEST_F(VerifyPlan, ACapLowered) {
  edit_document([](codec::Json& plan) { plan["limits"]["token_cap"] = 2000; });
  EXPECT_THAT(failed_checks(), Contains("caps"));
}

TEST_F(VerifyPlan, ASampleOverTheCap) {
  edit_array<std::uint32_t>("sample_tokens.npy", 1, [](auto& tokens) { tokens[5] = 9999; });
  EXPECT_THAT(failed_checks(), Contains("caps"));
}

TEST_F(VerifyPlan, ACountThatDisagrees) {
  edit_document([](codec::Json& plan) { plan["packs"] = 1; });
  EXPECT_THAT(failed_checks(), Contains("counts"));
}

TEST_F(VerifyPlan, AMemoryLimitThatIsPassed) {
  edit_document([](codec::Json& plan) { plan["memory_bytes"] = 1000; });
  EXPECT_THAT(failed_checks(), Contains("memory"));
}

TEST_F(VerifyPlan, APredictionThatIsTooGood) {
  edit_document([](codec::Json& plan) {
    plan["prediction"]["step_s"] = plan["prediction"]["step_s"].get<double>() * 0.999;
  });
  EXPECT_THAT(failed_checks(), Contains("prediction"));
}

TEST_F(VerifyPlan, AnAblationThatIsTooGood) {
  edit_document([](codec::Json& plan) { plan["ablation"][4]["step_s"] = 0.001; });
  EXPECT_THAT(failed_checks(), Contains("prediction"));
}

TEST_F(VerifyPlan, AMissingFileIsAVerdictNotACrash) {
  std::filesystem::remove(directory_ + "/pack_load.npy");
  EXPECT_THAT(failed_checks(), Contains("files"));
  EXPECT_THAT(failed_checks(false), Contains("checksums"));
}

}  // namespace
}  // namespace omnibal::verify
