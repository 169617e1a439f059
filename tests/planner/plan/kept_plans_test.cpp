#include "planner/plan/kept_plans.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/planner/drawn_primitives.hpp"
#include "tests/support/temporary.hpp"

namespace znni {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::MatchesRegex;

class PlannerKeptPlans : public testing::Test {
 protected:
  PlannerKeptPlans() {
    device_.name = "two cores";
    device_.threads = 2;
  }
  fs::path file(std::int64_t memory) const { return kept_plan_file(temporary_.path(), network_, device_, memory); }
  fs::path planners(std::int64_t memory) const {
    return planner_plan_file(temporary_.path(), network_, device_, memory);
  }
  void write(const fs::path& file) const { temporary_.write(file.lexically_relative(temporary_.path()), ""); }

  const test::TemporaryDirectory temporary_;
  const Network network_ = drawn::chain();
  DeviceSpec device_;
};

TEST_F(PlannerKeptPlans, LieByNetworkMachineAndMemory) {
  EXPECT_THAT(file(1 << 20).lexically_relative(temporary_.path()).string(),
              MatchesRegex("[0-9a-f]{32}/1048576.plan.pbtxt"));
  EXPECT_EQ(file(1 << 20), file(1 << 20));
  DeviceSpec renamed = device_;
  renamed.name = "two other cores";
  DeviceSpec larger = device_;
  larger.threads = 3;
  Network bound = network_;
  bound.window = Vec3::cube(64);
  const std::set<fs::path> files = {kept_plan_file(temporary_.path(), bound, device_, 1 << 20),
                                    file(1 << 20),
                                    file(1 << 21),
                                    kept_plan_file(temporary_.path(), drawn::chain(3), device_, 1 << 20),
                                    kept_plan_file(temporary_.path(), network_, renamed, 1 << 20),
                                    kept_plan_file(temporary_.path(), network_, larger, 1 << 20)};
  EXPECT_EQ(files.size(), 6U);
}

TEST_F(PlannerKeptPlans, ThoseForOtherMemoryComeWithTheMostFirst) {
  EXPECT_THAT(other_plan_files(temporary_.path(), network_, device_, 100), ElementsAre());
  for (const std::int64_t memory : {9, 100, 1000, 50}) write(file(memory));
  write(file(7).parent_path() / "7.plan.pbtxt.new");
  write(file(7).parent_path() / "net.plan.pbtxt");
  EXPECT_THAT(other_plan_files(temporary_.path(), network_, device_, 100), ElementsAre(file(1000), file(50), file(9)));
}

TEST_F(PlannerKeptPlans, ThoseForAVolumeLieBesideThemAndAreRemovedAsTheyAre) {
  const fs::path of = kept_plan_file(temporary_.path(), network_, device_, 100, Vec3{3, 40, 50});
  EXPECT_EQ(of, file(100).parent_path() / "100.of-3x40x50.plan.pbtxt");
  const fs::path stranger = of.parent_path() / "100.other.plan.pbtxt";
  for (const fs::path& one : {file(100), of, stranger}) write(one);
  EXPECT_THAT(other_plan_files(temporary_.path(), network_, device_, 50), ElementsAre(file(100)));
  const auto later = fs::file_time_type::clock::now() + 2 * longest_unused;
  EXPECT_THAT(prune_plans(file(100), later), ElementsAre(of));
  EXPECT_TRUE(fs::exists(stranger));
}

TEST_F(PlannerKeptPlans, ThoseOfThePlannerLieBesideTheDaemonsUnderANameThatSaysSo) {
  EXPECT_EQ(planners(100), file(100).parent_path() / "100.planner.pbtxt");
  for (const std::int64_t memory : {49, 50, 100, 101, 200, 201, 60}) write(planners(memory));
  write(file(70));
  write(file(7).parent_path() / "net.planner.pbtxt");
  write(file(7).parent_path() / "80.planner.pbtxt.x1y2z3");
  const auto found = planner_plan_files(temporary_.path(), network_, device_, 100);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_THAT(*found, ElementsAre(planners(100), planners(60), planners(50), planners(101), planners(200),
                                  planners(201), planners(49)));
  EXPECT_THAT(other_plan_files(temporary_.path(), network_, device_, 100), ElementsAre(file(70)));
}

TEST_F(PlannerKeptPlans, AFolderThatCannotBeListedIsNotOneWithoutPlans) {
  EXPECT_TRUE(planner_plan_files(temporary_.path(), network_, device_, 100)) << "there is none";
  fs::create_directory_symlink(file(1).parent_path(), file(1).parent_path());
  const auto found = planner_plan_files(temporary_.path(), network_, device_, 100);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, testing::StartsWith(file(1).parent_path().string() + ": "));
}

TEST_F(PlannerKeptPlans, ThoseOfThePlannerForOtherNetworksAndMachinesAreFound) {
  DeviceSpec larger = device_;
  larger.threads = 3;
  const fs::path elsewhere = planner_plan_file(temporary_.path(), network_, larger, 100);
  for (const fs::path& each : {planners(100), file(100), elsewhere}) write(each);
  write(kept_plan_file(temporary_.path(), network_, larger, 100));
  write(temporary_.path() / "100.planner.pbtxt");
  EXPECT_THAT(planner_plans_elsewhere(temporary_.path(), network_, device_), ElementsAre(elsewhere));
  EXPECT_THAT(planner_plans_elsewhere(temporary_.path() / "none", network_, device_), ElementsAre());
}

TEST_F(PlannerKeptPlans, ThoseThatWereNotUsedForLongAreRemoved) {
  const auto now = fs::file_time_type::clock::now();
  for (const std::int64_t memory : {1, 2, 3, 4}) write(file(memory));
  write(file(1).parent_path() / "net.plan.pbtxt");
  write(planners(1));
  for (const fs::directory_entry& each : fs::directory_iterator(file(1).parent_path())) {
    fs::last_write_time(each, now - longest_unused - std::chrono::hours(1));
  }
  note_use(file(2));
  EXPECT_THAT(prune_plans(file(4), now), testing::UnorderedElementsAre(file(1), file(3)));
  EXPECT_TRUE(fs::exists(file(2))) << "used since";
  EXPECT_TRUE(fs::exists(file(4))) << "that of now";
  EXPECT_TRUE(fs::exists(file(1).parent_path() / "net.plan.pbtxt")) << "none of ours";
  EXPECT_TRUE(fs::exists(planners(1))) << "the planner's";
  EXPECT_FALSE(fs::exists(file(1)));
}

TEST_F(PlannerKeptPlans, ThoseUsedLastAreKept) {
  const auto now = fs::file_time_type::clock::now();
  for (std::int64_t memory = 1; memory <= 18; ++memory) {
    write(file(memory));
    fs::last_write_time(file(memory), now - std::chrono::hours(memory));
  }
  EXPECT_THAT(prune_plans(file(18), now), testing::UnorderedElementsAre(file(16), file(17)));
  EXPECT_THAT(prune_plans(temporary_.path() / "none" / "1.plan.pbtxt", now), ElementsAre());
}

TEST_F(PlannerKeptPlans, ThoseOfOlderVersionsLieByTheNameOfTheirModel) {
  EXPECT_EQ(named_plan_file("/plans", "net", "3"), fs::path("/plans/net/3.plan.pbtxt"));
}

}  // namespace
}  // namespace znni
