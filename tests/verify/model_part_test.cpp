// SPDX-License-Identifier: Apache-2.0
//
// False claims about stages, memory, the prediction and the ablation.
#include <gmock/gmock.h>

#include "verify/damaged_plan.h"

namespace omnibal::verify {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

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
  EXPECT_THAT(failed_checks(), Contains("ablation"));
}

TEST_F(VerifyPlan, AnEmptyOrDisorderedAblation) {
  edit_document([](codec::Json& plan) { std::swap(plan["ablation"][1], plan["ablation"][2]); });
  EXPECT_THAT(failed_checks(), Contains("ablation"));
  edit_document([](codec::Json& plan) { plan["ablation"] = codec::Json::array(); });
  EXPECT_THAT(failed_checks(), Contains("ablation"));
  edit_document([](codec::Json& plan) { plan["ablation"] = {1, 2, 3, 4, 5}; });
  EXPECT_THAT(failed_checks(), Contains("ablation"));
}

TEST_F(VerifyPlan, ADoubledPaperRow) {
  for (const std::size_t row : {0, 1, 2, 3}) {
    for (const char* key : {"step_s", "gpu_days", "speedup"}) {
      write();
      edit_document([&](codec::Json& plan) {
        codec::Json& value = plan["ablation"][row][key];
        value = 2 * value.get<double>();
      });
      EXPECT_THAT(failed_checks(), ElementsAre("ablation")) << row << " " << key;
    }
  }
}

TEST_F(VerifyPlan, ARowThatIsFasterThanAllWorkAllows) {
  edit_document([](codec::Json& plan) {
    codec::Json& row = plan["ablation"][2];
    const double days = plan["bound"]["gpu_days"].get<double>() * 0.9;
    row["step_s"] = row["step_s"].get<double>() * days / row["gpu_days"].get<double>();
    row["gpu_days"] = days;
    row["speedup"] = plan["ablation"][0]["gpu_days"].get<double>() / days;
  });
  EXPECT_THAT(detail_of("ablation"), HasSubstr("nothing can take less"));
}

TEST_F(VerifyPlan, AFalseFigureOfThePrediction) {
  for (const char* key : {"gpu_days", "hours", "samples_per_s", "tokens_per_s_per_gpu", "mfu"}) {
    write();
    edit_document([&](codec::Json& plan) {
      codec::Json& value = plan["prediction"][key];
      value = value.get<double>() * 1.001;
    });
    EXPECT_THAT(failed_checks(), ElementsAre("prediction")) << key;
  }
}

TEST_F(VerifyPlan, SaysWhenMfuIsNotRecomputed) {
  EXPECT_THAT(detail_of("prediction"), Not(HasSubstr("mfu")));
  edit_document([](codec::Json& plan) { plan["provenance"]["options"]["model"] = "mine.json"; });
  EXPECT_THAT(failed_checks(), IsEmpty());
  EXPECT_THAT(detail_of("prediction"), HasSubstr("mfu not recomputed"));
}

TEST_F(VerifyPlan, AFalseFigureOfAStage) {
  for (const char* key : {"first_layer", "num_layers", "static_bytes", "kept_bytes",
                          "transient_bytes", "in_flight", "peak_bytes"}) {
    write();
    edit_document([&](codec::Json& plan) {
      codec::Json& value = plan["partition"]["stages"][1][key];
      value = value.get<std::int64_t>() + 1;
    });
    EXPECT_THAT(failed_checks(), ElementsAre("partition")) << key;
  }
}

TEST_F(VerifyPlan, BytesThatCannotBeSummed) {
  codec::Json profile = *codec::read_json(directory_ + "/profile.json");
  profile["layers"][3]["activation_bytes"] = {{"per_token_pair", 1e15}};
  ASSERT_TRUE(codec::write_json(directory_ + "/profile.json", profile).ok());
  EXPECT_THAT(failed_checks(), IsSupersetOf({"partition", "memory", "prediction"}));
}

}  // namespace
}  // namespace omnibal::verify
