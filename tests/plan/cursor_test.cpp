// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/cursor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "codec/scratch_directory.h"
#include "plan/small_plan.h"

namespace omnibal::plan {
namespace {

using ::testing::HasSubstr;

class CursorFile : public testing::Test {
 protected:
  PlanReader write(const std::string& name, const PlanRequest& request) {
    const corpus::Corpus corpus = small_corpus();
    const auto plan = plan_small(corpus, request);
    EXPECT_TRUE(write_small(*plan, corpus, path(name)).ok());
    return *PlanReader::open(path(name));
  }
  std::string path(const std::string& name) const { return scratch_.path() + "/" + name; }

  ScratchDirectory scratch_;
};

PlanCursor some_cursor(const PlanIdentity& identity) {
  return {.plan = identity,
          .at = {.at = {2, 1}, .ranks = {1, 6}, .changes = {{{0, 1}, {5, 2}}, {{1, 0}, {3, 2}}}}};
}

TEST_F(CursorFile, ReadsBackWhatWasWritten) {
  const PlanReader plan = write("plan", small_request());
  const PlanCursor cursor = some_cursor(*identify(plan, path("plan")));
  ASSERT_TRUE(write_cursor(cursor, path("cursor.json")).ok());
  const auto back = read_cursor(path("cursor.json"));
  ASSERT_TRUE(back.ok()) << to_text(back.error());
  EXPECT_EQ(back->plan, cursor.plan);
  EXPECT_EQ(back->at, cursor.at);
}

TEST_F(CursorFile, ResumesFromTheFilesAlone) {
  const PlanReader plan = write("plan", small_request());
  const auto source = step_source(plan);
  ASSERT_TRUE(source.ok()) << to_text(source.error());
  auto reader = steps::StepReader::open(*source, steps::first_step(*source));
  ASSERT_TRUE(reader.ok());
  reader->advance();
  auto other = reader->on_ranks({3, 2});
  ASSERT_TRUE(other.ok());
  other->advance();
  const PlanIdentity identity = *identify(plan, path("plan"));
  ASSERT_TRUE(write_cursor({identity, other->cursor()}, path("cursor.json")).ok());

  const auto again = PlanReader::open(path("plan"));
  const auto cursor = read_cursor(path("cursor.json"));
  ASSERT_TRUE(check_is_of(*cursor, *identify(*again, path("plan")), "cursor.json").ok());
  const auto resumed = steps::StepReader::open(*step_source(*again), cursor->at);
  ASSERT_TRUE(resumed.ok()) << to_text(resumed.error());
  EXPECT_EQ(resumed->packs(), other->packs());
}

TEST_F(CursorFile, APlanIsTheSameWhereverItLies) {
  const PlanIdentity here = *identify(write("plan", small_request()), path("plan"));
  EXPECT_EQ(*identify(write("elsewhere", small_request()), path("elsewhere")), here);
}

TEST_F(CursorFile, ACursorOfAnotherPlanIsRefused) {
  PlanRequest request = small_request();
  const PlanIdentity identity = *identify(write("plan", request), path("plan"));
  request.data.limits = pack::PackLimits::with_paper_floors(8, 4096);
  const PlanIdentity other = *identify(write("other", request), path("other"));
  const Status stale = check_is_of(some_cursor(identity), other, "cursor.json");
  ASSERT_FALSE(stale.ok());
  EXPECT_EQ(stale.error().code, ErrorCode::kStalePlan);
  EXPECT_EQ(stale.error().where.file, "cursor.json");
  EXPECT_EQ(std::get<std::string>(stale.error().value), identity.hash);
  EXPECT_EQ(std::get<std::string>(stale.error().limit), other.hash);
}

TEST(CursorIdentity, SaysWhyThePlanIsAnother) {
  const PlanIdentity made{"a", "b", "c"};
  const auto message = [&made](const PlanIdentity& other) {
    return check_is_of({made, {}}, other, "c.json").error().message;
  };
  EXPECT_THAT(message({"x", "y", "c"}), HasSubstr("of other samples"));
  EXPECT_THAT(message({"x", "b", "y"}), HasSubstr("made with other options"));
  EXPECT_THAT(message({"x", "b", "c"}), HasSubstr("of other content"));
}

TEST(CursorText, BadFieldsAreNamed) {
  const codec::Json good = to_json(some_cursor({"a", "b", "c"}));
  ASSERT_TRUE(parse_cursor(good, "c.json").ok());
  const auto refused = [&good](const std::function<void(codec::Json&)>& change) {
    codec::Json bad = good;
    change(bad);
    const auto cursor = parse_cursor(bad, "c.json");
    EXPECT_FALSE(cursor.ok()) << bad.dump();
    EXPECT_EQ(cursor.error().where.file, "c.json");
    return std::pair(cursor.error().code, cursor.error().where.key);
  };
  using Refusal = std::pair<ErrorCode, std::string>;
  const auto with = [](const char* key, const codec::Json& value) {
    return [key, value](codec::Json& json) { json[key] = value; };
  };
  EXPECT_EQ(refused(with("step", -1)), Refusal(ErrorCode::kOutOfRange, "step"));
  EXPECT_EQ(refused(with("epoch", 1.5)), Refusal(ErrorCode::kWrongType, "epoch"));
  EXPECT_EQ(refused(with("dp", 0)), Refusal(ErrorCode::kOutOfRange, "dp"));
  EXPECT_EQ(refused(with("version", 2)).first, ErrorCode::kUnsupportedVersion);
  EXPECT_EQ(refused(with("format", "omnibal.plan")).first, ErrorCode::kUnknownFormat);
  EXPECT_EQ(refused(with("stpe", 1)).first, ErrorCode::kUnknownKey);
  EXPECT_EQ(refused(with("changes", {1})), Refusal(ErrorCode::kWrongType, "changes[0]"));
  EXPECT_EQ(refused([](codec::Json& json) { json["changes"][1]["step"] = -3; }),
            Refusal(ErrorCode::kOutOfRange, "changes[1].step"));
  EXPECT_EQ(refused([](codec::Json& json) { json.erase("micro_batches"); }),
            Refusal(ErrorCode::kMissingKey, "micro_batches"));
}

}  // namespace
}  // namespace omnibal::plan
