#include "proto/convert/text/plan_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/text/plans.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/random.hpp"
#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(PlanText, RoundTrip) {
  const Plan plan = test::full_plan();
  const Result<Plan> again = parse_plan(plan_text(plan));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, plan);
  EXPECT_EQ(plan_text(*again), plan_text(plan));
}

TEST(PlanText, StreamsComeBack) {
  Plan plan = test::full_plan();
  plan.ladder.front().geometry.streamed = true;
  plan.ladder.front().geometry.axis = 2;
  EXPECT_NE(plan_text(plan).find("  streamed: true\n  axis: 2\n"), std::string::npos);
  EXPECT_EQ(parse_plan(plan_text(plan))->ladder.front().geometry, plan.ladder.front().geometry);
  EXPECT_FALSE(diff(plan, test::full_plan()).empty());
}

TEST(PlanText, ClosedAxesComeBack) {
  Plan plan = test::full_plan();
  EXPECT_EQ(plan_text(plan).find("closed"), std::string::npos);
  plan.ladder.front().geometry.closed = {0, 1, 1};
  const std::string text = plan_text(plan);
  EXPECT_NE(text.find("  closed: \"yx\"\n"), std::string::npos);
  EXPECT_EQ(parse_plan(text).value(), plan);
  EXPECT_FALSE(diff(plan, test::full_plan()).empty());
  const Result<Plan> wrong = parse_plan(std::string(text).replace(text.find("\"yx\""), 4, "\"xy\""));
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("closed is 'xy'; axes in the order zyx are right, each once"));
}

TEST(PlanText, SocketsComeBackAndAreOneOrMore) {
  Plan plan = test::full_plan();
  EXPECT_EQ(plan_text(plan).find("sockets"), std::string::npos);
  plan.sockets = 2;
  EXPECT_NE(plan_text(plan).find("sockets: 2\n"), std::string::npos);
  EXPECT_EQ(parse_plan(plan_text(plan)).value(), plan);
  EXPECT_FALSE(diff(plan, test::full_plan()).empty());
  const Result<Plan> none = parse_plan(plan_text(test::full_plan()) + "sockets: 0\n");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("sockets is 0; it must be 1 or more"));
}

// Older plans, without a precision, are of float32 throughout.
TEST(PlanText, PrecisionComesBackAndIsFp32WhereNothingIsSaid) {
  Plan plan = test::full_plan();
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16}) {
    plan.key.precision = precision;
    EXPECT_EQ(parse_plan(plan_text(plan)).value().key.precision, precision);
  }
  const Result<Plan> old = read_plan(test::case_folder().parent_path() / "golden" / "plan.pbtxt");
  ASSERT_TRUE(old);
  EXPECT_EQ(old->key.precision, Precision::fp32);
  EXPECT_EQ(plan_text(*old).find("precision"), std::string::npos);
}

TEST(PlanText, PinsComeBackAndAreAbsentWhereNothingIsPinned) {
  Plan plan = test::full_plan();
  EXPECT_EQ(plan_text(plan).find("pins"), std::string::npos);
  plan.key.pins = "--patch 88,288,280 --no-stream";
  EXPECT_NE(plan_text(plan).find("pins: \"--patch 88,288,280 --no-stream\"\n"), std::string::npos);
  EXPECT_EQ(parse_plan(plan_text(plan)).value(), plan);
}

TEST(PlanText, TheVolumeComesBackAndIsAbsentWhereThereIsNone) {
  Plan plan = test::full_plan();
  EXPECT_EQ(plan_text(plan).find("volume"), std::string::npos);
  EXPECT_NE(plan_text(plan).find("  endless: true\n"), std::string::npos);
  EXPECT_EQ(parse_plan(plan_text(plan)).value(), plan);
  plan.key.volume = Vec3{40, 50, 60};
  plan.predicted.endless_voxels_per_second = 2e6;
  EXPECT_NE(plan_text(plan).find("  volume: [40, 50, 60]\n"), std::string::npos);
  EXPECT_EQ(plan_text(plan).find("endless:"), std::string::npos);
  EXPECT_EQ(parse_plan(plan_text(plan)).value(), plan);
}

TEST(PlanText, AMicroBatchIsReadByItsOldName) {
  Plan plan = test::full_plan();
  plan.ladder.front().segments.front().micro_batch.inputs = 3;
  std::string text = plan_text(plan);
  const std::size_t at = text.find("micro_batch {");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(parse_plan(text.replace(at, 11, "group")).value(), plan);
}

TEST(PlanText, AStemInSlabsIsReadByItsOldName) {
  const Plan plan = test::full_plan();
  std::string text = plan_text(plan);
  const std::size_t at = text.find("stem_slab: 4");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(parse_plan(text.replace(at, 4, "head")).value(), plan);
  EXPECT_THAT(parse_plan(text.replace(at, 12, "head_slab: -4")).error().message,
              testing::HasSubstr("head_slab is -4; 0 or more is right"));
}

TEST(PlanText, GoldenFileStillLoads) {
  const Result<Plan> plan = read_plan(test::case_folder().parent_path() / "golden" / "plan.pbtxt");
  ASSERT_TRUE(plan) << plan.error().message;
  Plan expected = test::full_plan();
  expected.key.of_unknown_volume = true;
  EXPECT_EQ(*plan, expected);
  EXPECT_EQ(parse_plan(plan_text(*plan)).value(), expected) << "and does not claim more when it is written again";
}

// A plan in the first version of the format, with a field that no longer exists, must always load.
TEST(PlanText, FirstFormStillLoads) {
  const Result<Plan> plan = read_plan(test::case_folder().parent_path() / "golden" / "plan_first_form.pbtxt");
  ASSERT_TRUE(plan) << plan.error().message;
  std::vector<Segment> expected = test::full_plan().ladder.front().segments;
  for (Segment& segment : expected) {
    for (Step& step : segment.steps) step.error = 0;  // the first form had none
  }
  EXPECT_EQ(plan->ladder.front().segments, expected);
  EXPECT_EQ(plan->ladder.front().geometry.modes, std::vector<PoolingMode>{PoolMode::fragments});
}

TEST(PlanText, IsMadeToBeRead) {
  const std::string text = plan_text(test::full_plan());
  for (const char* line :
       {"  pass_input: [32, 48, 64]\n", "  modes: [fragments, fragments, fragments]\n", "      out: \"f32:planar\"\n",
        "    place: gpu_host_ram\n", "  basis: measured\n", "      primitive: \"cpu.conv.onednn\"\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(PlanText, Files) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.path() / "plan.pbtxt";
  EXPECT_EQ(read_plan(path).error().code, ErrorCode::not_found);
  ASSERT_TRUE(write_plan(path, test::full_plan()));
  EXPECT_EQ(*read_plan(path), test::full_plan());
  folder.write("plan.pbtxt", "key {\n  colour: 3\n}");
  EXPECT_THAT(read_plan(path).error().message, StartsWith(path + ": line 2: znni.text.Plan.Key has no field 'colour'"));
  EXPECT_EQ(read_plan(path).error().code, ErrorCode::corrupt_file);
}

TEST(PlanText, TruncationsAndChangesNeverCrash) {
  const std::string good = plan_text(test::full_plan());
  for (std::size_t length = 0; length < good.size(); length += 7) {
    const Result<Plan> plan = parse_plan(std::string_view(good).substr(0, length));
    if (!plan) {
      EXPECT_EQ(plan.error().message.find('\n'), std::string::npos);
    }
  }
  for (int i = 0; i < 1000; ++i) {
    test::Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    std::string text = good;
    for (int flips = 0; flips < 2; ++flips) {
      text[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(text.size()) - 1))] =
          static_cast<char>(random.integer(1, 255));
    }
    const Result<Plan> plan = parse_plan(text);
    if (plan) {
      EXPECT_GE(plan->memory.total(), 0) << "case " << i;
    }
  }
}

}  // namespace
}  // namespace znni
