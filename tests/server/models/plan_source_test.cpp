#include "server/models/plan_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "planner/plan/kept_plans.hpp"
#include "planner/search/search.hpp"
#include "proto/convert/text/plan_text.hpp"
#include "tests/server/pipeline/oracle_primitive.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

constexpr std::int64_t plenty_of_bytes = std::int64_t{1} << 20;

class PlanSourceTest : public testing::Test {
 protected:
  PlanSourceTest() {
    const Backend* const rows[] = {&test::oracle_backend()};
    catalogue_ = Catalogue::make(rows).value();
    entry_.name = "net";
    entry_.version = "3";
    entry_.plan_file = directory_.path() / "net/3/plan.pbtxt";
  }

  PlanContext context(const std::string& plan_directory) {
    const auto log = [this](std::string_view level, const std::string& line) {
      log_ += std::string(level) + ": " + line + "\n";
    };
    return {catalogue_, spec_, costs_, plan_directory, log, directory_.path() / "temporary"};
  }
  Result<Plan> find(const std::string& plan_directory = "", std::int64_t memory = plenty_of_bytes) {
    log_.clear();
    return find_or_make_plan(entry_, network_, memory, context(plan_directory), {});
  }
  Plan searched(const Network& network, std::int64_t memory = plenty_of_bytes) {
    SearchOptions options;
    options.memory_limit = memory;
    return search(network, spec_, catalogue_, *costs_(spec_), options).value();
  }
  std::string planners(std::int64_t memory) const {
    return planner_plan_file(plans(), network_, spec_, memory).string();
  }
  // Leaves a plan as `planner --model-repository` does.
  Plan planned(std::int64_t memory, const std::string& pins = "") {
    Plan plan = searched(network_, std::min(memory, plenty_of_bytes));
    plan.key.memory_limit = memory;
    plan.key.pins = pins;
    directory_.write(std::filesystem::relative(planners(memory), directory_.path()), plan_text(plan));
    return plan;
  }
  std::string threads() const { return std::to_string(spec_.threads); }
  std::string plans() const { return (directory_.path() / "plans").string(); }

  const test::TemporaryDirectory directory_;
  const Network network_ = test::simple_network(1);
  const DeviceSpec spec_ = test::host_device(1)->spec();
  const CostsOf costs_ = [](const DeviceSpec&) { return modelled_costs(); };
  Catalogue catalogue_;
  ModelEntry entry_;
  std::string log_;
};

TEST_F(PlanSourceTest, MakesAPlanAndKeepsItForTheNextStart) {
  const Result<Plan> made = find(plans());
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_LE(made->memory.total(), plenty_of_bytes);
  const std::string file = kept_plan_file(plans(), network_, spec_, plenty_of_bytes).string();
  EXPECT_THAT(log_, HasSubstr("info: plan written to " + file));
  const Result<Plan> again = find(plans());
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *made);
  EXPECT_THAT(log_, HasSubstr("info: plan " + file + " is used"));
  EXPECT_THAT(log_, Not(HasSubstr("written")));
}

TEST_F(PlanSourceTest, PlansThatNoStartUsesAnyMoreMakeRoomForNewOnes) {
  const std::int64_t large = find(plans())->memory.total();
  const auto file = [&](std::int64_t memory) { return kept_plan_file(plans(), network_, spec_, memory); };
  const auto age = [&](std::int64_t memory) {
    const auto old = std::filesystem::file_time_type::clock::now() - 2 * longest_unused;
    std::filesystem::last_write_time(file(memory), old);
  };
  age(plenty_of_bytes);
  ASSERT_TRUE(find(plans())) << "which uses it";
  const std::string stale = directory_.write(std::filesystem::relative(file(7), directory_.path()), "").string();
  age(7);
  ASSERT_TRUE(find(plans(), large - 1));
  EXPECT_THAT(log_, HasSubstr("info: plan " + stale + " is removed: for 30 days it was not used"));
  EXPECT_FALSE(std::filesystem::exists(stale));
  EXPECT_TRUE(std::filesystem::exists(file(plenty_of_bytes)));
}

TEST_F(PlanSourceTest, WithoutAPlanDirectoryNothingIsKept) {
  ASSERT_TRUE(find(""));
  EXPECT_THAT(log_, Not(HasSubstr("written")));
}

// Two daemons of one user have such models if their repositories hold different nets of the same name.
TEST_F(PlanSourceTest, ModelsOfOneNameKeepAPlanEach) {
  ASSERT_TRUE(find(plans()));
  const Network other = test::simple_network(2);
  ASSERT_TRUE(find_or_make_plan(entry_, other, plenty_of_bytes, context(plans()), {}));
  for (int start = 0; start < 2; ++start) {
    const Result<Plan> own = find(plans());
    ASSERT_TRUE(own);
    EXPECT_EQ(own->key.nodes, describe(network_));
    EXPECT_THAT(log_, HasSubstr("info: plan "));
    EXPECT_THAT(log_, Not(HasSubstr("planning")));
    EXPECT_THAT(log_, Not(HasSubstr("warning")));
    log_.clear();
    ASSERT_TRUE(find_or_make_plan(entry_, other, plenty_of_bytes, context(plans()), {}));
    EXPECT_THAT(log_, Not(HasSubstr("planning")));
  }
}

TEST_F(PlanSourceTest, APlanIsKeptForEachVolume) {
  const auto find_for = [&](std::optional<Vec3> extent) {
    log_.clear();
    PlanContext of = context(plans());
    of.volume.extent = extent;
    return find_or_make_plan(entry_, network_, plenty_of_bytes, of, {});
  };
  const Vec3 extent{30, 44, 50};
  ASSERT_TRUE(find_for(std::nullopt));
  const Result<Plan> made = find_for(extent);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->key.volume, extent);
  EXPECT_THAT(log_, HasSubstr("for volumes of 30x44x50"));
  EXPECT_EQ(*find_for(extent), *made);
  EXPECT_THAT(log_, HasSubstr(".of-30x44x50.plan.pbtxt is used"));
  EXPECT_EQ(find_for(std::nullopt)->key.volume, std::nullopt);
  EXPECT_THAT(log_, Not(HasSubstr("planning")));
}

TEST_F(PlanSourceTest, APlanIsKeptForEachMemory) {
  const Plan large = *find(plans());
  const Plan small = *find(plans(), large.memory.total() - 1);
  EXPECT_THAT(log_, HasSubstr("info: plan " + kept_plan_file(plans(), network_, spec_, plenty_of_bytes).string() +
                              " is not used: "));
  EXPECT_THAT(log_, Not(HasSubstr("warning")));
  EXPECT_EQ(*find(plans(), large.memory.total() - 1), small);
  EXPECT_THAT(log_, Not(HasSubstr("planning")));
  EXPECT_EQ(*find(plans()), large) << "and the other one is there still";
  EXPECT_THAT(log_, Not(HasSubstr("planning")));
}

TEST_F(PlanSourceTest, APlanForOtherMemoryThatRunsIsUsedAndTheLogSaysSo) {
  const Plan made = *find(plans());
  EXPECT_EQ(*find(plans(), plenty_of_bytes + plenty_of_bytes / 2), made);
  EXPECT_THAT(log_, HasSubstr(" is used; it was made for 1.00 MiB, 1.50 MiB may be used"));
  EXPECT_EQ(find(plans(), 3 * plenty_of_bytes)->key.memory_limit, 3 * plenty_of_bytes)
      << "twice as much is worth a search";
}

// The daemon has made a plan of its own before, and its share is not as round as --mem of the planner.
TEST_F(PlanSourceTest, ThePlannersPlanComesBeforeTheDaemonsOwn) {
  ASSERT_TRUE(find(plans()));
  const Plan first = planned(plenty_of_bytes / 4 * 3, "first");
  EXPECT_EQ(*find(plans()), first);
  EXPECT_THAT(log_, HasSubstr("info: plan " + planners(plenty_of_bytes / 4 * 3) +
                              " is used; it was made for 768.00 KiB, 1.00 MiB may be used"));
  const Plan second = planned(plenty_of_bytes / 4 * 3, "second");
  EXPECT_EQ(*find(plans()), second) << "a second run of the planner has its effect";
  EXPECT_THAT(log_, Not(HasSubstr("warning")));
}

TEST_F(PlanSourceTest, OfThePlannersPlansThatForTheMostMemoryWithinTheModelsIsUsed) {
  for (const std::int64_t eighths : {2, 3, 4, 6, 9, 16, 40}) planned(plenty_of_bytes / 8 * eighths);
  for (const std::int64_t eighths : {6, 4, 9, 16, 40}) {
    EXPECT_EQ(find(plans())->key.memory_limit, plenty_of_bytes / 8 * eighths);
    EXPECT_THAT(log_, Not(HasSubstr("warning"))) << "others were not asked for";
    std::filesystem::remove(planners(plenty_of_bytes / 8 * eighths));
  }
  EXPECT_EQ(find(plans())->key.memory_limit, plenty_of_bytes);
  for (const std::int64_t eighths : {2, 3}) {
    const std::int64_t memory = plenty_of_bytes / 8 * eighths;
    EXPECT_THAT(log_,
                HasSubstr("warning: plan " + planners(memory) + " is not used: it was made for " + bytes_text(memory) +
                          ", 1.00 MiB may be used now; planner --model-repository with --plan-dir " + plans() +
                          " --mem 1048576 --threads " + threads() + " makes one that is"));
  }
}

TEST_F(PlanSourceTest, APlanOfThePlannerThatDoesNotRunIsNamedAndTheNextOneIsUsed) {
  const std::int64_t needed = searched(network_).memory.total();
  const std::int64_t memory = needed - 1;
  const std::string large = planners(plenty_of_bytes);
  planned(plenty_of_bytes);
  ASSERT_LE(plenty_of_bytes, 2 * memory);
  directory_.write(std::filesystem::relative(planners(memory), directory_.path()), "rung {");
  const Result<Plan> own = find(plans(), memory);
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_LE(own->memory.total(), memory);
  const std::string mend = "; planner --model-repository with --plan-dir " + plans() + " --mem " +
                           std::to_string(memory) + " --threads " + threads() + " makes one that is\n";
  EXPECT_THAT(log_, ContainsRegex("warning: plan " + planners(memory) + " is not used: [^\n]*" + mend));
  EXPECT_THAT(log_, ContainsRegex("warning: plan " + large + " is not used: needs [^\n]*" + mend));
  EXPECT_THAT(log_, HasSubstr("info: plan written to "));
  planned(memory / 2 + 1);
  EXPECT_EQ(find(plans(), memory)->key.memory_limit, memory / 2 + 1);
  EXPECT_THAT(log_, HasSubstr("warning: plan " + planners(memory) + " is not used: "));
}

TEST_F(PlanSourceTest, APlanOfThePlannerForAnotherMachineIsNamed) {
  DeviceSpec larger = spec_;
  larger.name = "another, 3 threads";
  larger.threads = 3;
  Plan plan = searched(network_);
  plan.key.device = larger.name;
  const std::string file = planner_plan_file(plans(), network_, larger, plenty_of_bytes).string();
  for (const std::int64_t memory : {plenty_of_bytes, 2 * plenty_of_bytes}) {
    const auto path = planner_plan_file(plans(), network_, larger, memory);
    directory_.write(std::filesystem::relative(path, directory_.path()), plan_text(plan));
  }
  plan.key.nodes.pop_back();
  directory_.write("plans/other/1.planner.pbtxt", plan_text(plan));
  directory_.write("plans/broken/1.planner.pbtxt", "rung {");
  ASSERT_TRUE(find(plans()));
  EXPECT_THAT(log_, HasSubstr("warning: plan " + file +
                              " is not used: it was made for another, 3 threads (and 1 more for "
                              "other machines); this is " +
                              spec_.name + "; planner --model-repository with "));
  EXPECT_THAT(log_, HasSubstr("info: plan written to "));
  planned(plenty_of_bytes);
  ASSERT_TRUE(find(plans()));
  EXPECT_THAT(log_, Not(HasSubstr("another"))) << "there is one for this machine";
}

TEST_F(PlanSourceTest, ThePlannersPlansAreNeverRemoved) {
  const std::string old = planners(plenty_of_bytes / 8);
  planned(plenty_of_bytes / 8);
  std::filesystem::last_write_time(old, std::filesystem::file_time_type::clock::now() - 2 * longest_unused);
  ASSERT_TRUE(find(plans()));
  EXPECT_THAT(log_, HasSubstr("plan written"));
  EXPECT_TRUE(std::filesystem::exists(old));
}

TEST_F(PlanSourceTest, PlansThatCannotBeListedAreNamedAndTheModelIsPlanned) {
  const std::filesystem::path folder = std::filesystem::path(planners(1)).parent_path();
  std::filesystem::create_directories(folder.parent_path());
  std::filesystem::create_directory_symlink(folder, folder);
  std::filesystem::create_directory(directory_.path() / "temporary");
  ASSERT_TRUE(find(plans()));
  EXPECT_THAT(log_, HasSubstr("warning: plans are not used: " + folder.string() + ": "));
  EXPECT_THAT(log_, HasSubstr("; let the user of this daemon read that folder"));
}

// This happens if root ran the planner, and the daemon is another user.
TEST_F(PlanSourceTest, APlanWhoseOwnFolderCannotBeWrittenGoesToTemporaryFiles) {
  const std::filesystem::path folder = std::filesystem::path(planners(1)).parent_path();
  directory_.write(std::filesystem::relative(folder, directory_.path()), "a file, not a folder");
  std::filesystem::create_directory(directory_.path() / "temporary");
  const Result<Plan> made = find(plans());
  ASSERT_TRUE(made);
  EXPECT_THAT(log_, HasSubstr("warning: plan written to " + (directory_.path() / "temporary").string()));
  EXPECT_EQ(*find(plans()), *made);
  EXPECT_THAT(log_, HasSubstr("/1048576.plan.pbtxt is used"));
  EXPECT_THAT(log_, Not(HasSubstr("planning")));
}

TEST_F(PlanSourceTest, APlanThatLiesByTheNameOfItsModelIsReadAndNeverReplaced) {
  Plan named = searched(network_);
  named.predicted.basis = Basis::measured;
  const std::filesystem::path file = directory_.write("plans/net/3.plan.pbtxt", plan_text(named));
  EXPECT_EQ(*find(plans()), named);
  EXPECT_THAT(log_, HasSubstr("warning: plan " + file.string() +
                              " is used; the next version reads no plans by a model's name: put it beside the model"));
  const std::string other = plan_text(searched(test::simple_network(2)));
  directory_.write("plans/net/3.plan.pbtxt", other);
  ASSERT_TRUE(find(plans()));
  EXPECT_THAT(log_, HasSubstr("warning: plan " + file.string() + " is not used: "));
  EXPECT_THAT(log_, HasSubstr("plan written to " + kept_plan_file(plans(), network_, spec_, plenty_of_bytes).string()));
  EXPECT_EQ(test::read_text(file), other);
}

TEST_F(PlanSourceTest, ThePlannersPlanComesBeforeOneByTheNameOfTheModelWhichIsNamed) {
  const std::filesystem::path file = directory_.write("plans/net/3.plan.pbtxt", plan_text(searched(network_)));
  const Plan of_the_planner = planned(plenty_of_bytes, "planner");
  EXPECT_EQ(*find(plans()), of_the_planner);
  EXPECT_THAT(log_,
              HasSubstr("warning: plan " + file.string() + " is not read, because the planner's plan comes first"));
}

TEST_F(PlanSourceTest, ThePlanBesideTheModelComesFirst) {
  Plan beside = searched(network_, plenty_of_bytes / 2);
  directory_.write("net/3/plan.pbtxt", plan_text(beside));
  ASSERT_TRUE(write_plan(directory_.write("plans/net/3.plan.pbtxt", "").string(), searched(network_)));
  planned(plenty_of_bytes);
  const Result<Plan> found = find(plans());
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, beside);
}

TEST_F(PlanSourceTest, APlanOfAnotherMachineIsUsedAndTheLogSaysSo) {
  Plan plan = searched(network_);
  plan.key.device = "other, 2 threads";
  directory_.write("net/3/plan.pbtxt", plan_text(plan));
  const Result<Plan> found = find(plans());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, plan);
  EXPECT_THAT(log_, HasSubstr("info: plan " + entry_.plan_file.string() +
                              " is used: planned for other, 2 threads; this is " + spec_.name));
}

TEST_F(PlanSourceTest, APlanForAnotherNetIsReplaced) {
  directory_.write("net/3/plan.pbtxt", plan_text(searched(test::simple_network(2))));
  const Result<Plan> found = find(plans());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->key.nodes, describe(network_));
  EXPECT_THAT(log_, HasSubstr("warning: plan " + entry_.plan_file.string() + " is not used: "));
  EXPECT_THAT(log_, HasSubstr("plan written"));
}

TEST_F(PlanSourceTest, APlanOverTheLimitIsReplacedByOneThatFits) {
  const Plan large = searched(network_);
  const std::int64_t less = large.memory.total() - 1;
  directory_.write("net/3/plan.pbtxt", plan_text(large));
  const Result<Plan> found = find("", less);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_LE(found->memory.total(), less);
  EXPECT_THAT(log_, HasSubstr("is not used"));
}

TEST_F(PlanSourceTest, APlanMadeForMuchLessMemoryIsReplacedUnlessItWasMeasured) {
  Plan small = searched(network_, plenty_of_bytes / 8);
  directory_.write("net/3/plan.pbtxt", plan_text(small));
  const Result<Plan> found = find();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->key.memory_limit, plenty_of_bytes);
  EXPECT_THAT(log_, HasSubstr("is not used: it was made for 128.00 KiB, 1.00 MiB may be used now"));
  small.predicted.basis = Basis::measured;
  directory_.write("net/3/plan.pbtxt", plan_text(small));
  EXPECT_EQ(*find(), small);
}

TEST_F(PlanSourceTest, ABrokenPlanFileIsReplacedAndOneForAGpuThatIsNotThereIsAnError) {
  directory_.write("net/3/plan.pbtxt", "rung {");
  EXPECT_TRUE(find());
  EXPECT_THAT(log_, HasSubstr("is not used: "));
  Plan elsewhere = searched(network_);
  for (Rung& rung : elsewhere.ladder) rung.segments[0].place = Place::gpu;
  directory_.write("net/3/plan.pbtxt", plan_text(elsewhere));
  const Result<Plan> found = find();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::unsupported);
  EXPECT_THAT(found.error().message, HasSubstr("plan " + entry_.plan_file.string() + ": it places segments on a GPU"));
  EXPECT_THAT(found.error().message, HasSubstr("--gpu-mem"));
}

TEST_F(PlanSourceTest, APlanDirectoryThatCannotBeWrittenIsAWarning) {
  directory_.write("plans", "a file, not a folder");
  EXPECT_TRUE(find(plans()));
  EXPECT_THAT(log_, HasSubstr("warning: the plan is not kept"));
}

TEST_F(PlanSourceTest, APlanDirectoryThatCannotBeWrittenIsReplacedByTemporaryFiles) {
  directory_.write("plans", "a file, not a folder");
  std::filesystem::create_directory(directory_.path() / "temporary");
  const Result<Plan> made = find(plans());
  ASSERT_TRUE(made);
  EXPECT_THAT(log_, HasSubstr("warning: plan written to " + (directory_.path() / "temporary").string()));
  EXPECT_THAT(log_, HasSubstr("which a restart may clear: " + plans()));
  EXPECT_EQ(*find(plans()), *made);
  EXPECT_THAT(log_, HasSubstr("/1048576.plan.pbtxt is used"));
}

TEST_F(PlanSourceTest, PatchesOfANetOfOneAxisMayBeLongerThanTheBoundOfTheSearch) {
  Network line = test::simple_network(0, Vec3{1, 1, 9});
  line.spatial_rank = 1;
  constexpr std::int64_t memory = std::int64_t{1} << 30;
  const Result<Plan> found = find_or_make_plan(entry_, line, memory, context(""), {});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_GT(found->predicted.voxels_per_second, searched(line, memory).predicted.voxels_per_second);
  EXPECT_GT(found->ladder.front().geometry.pass_input.x, SearchOptions().max_extent);
  EXPECT_THAT(log_, HasSubstr("voxels an axis were looked at, not only of 1024: a longer one is faster"));
}

TEST_F(PlanSourceTest, SaysWhatItWouldTakeWhenNothingFits) {
  const Result<Plan> found = find("", 2000);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::over_budget);
}

TEST_F(PlanSourceTest, StopsWhenAsked) {
  std::stop_source stop;
  stop.request_stop();
  const Result<Plan> found = find_or_make_plan(entry_, network_, plenty_of_bytes, context(plans()), stop.get_token());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::cancelled);
  EXPECT_FALSE(std::filesystem::exists(plans()));
}

TEST_F(PlanSourceTest, TellsHowFarPlanningIs) {
  LoadingProgress progress;
  PlanContext told = context("");
  told.progress = &progress;
  ASSERT_TRUE(find_or_make_plan(entry_, network_, plenty_of_bytes, told, {}));
  EXPECT_THAT(progress.text(), MatchesRegex("planning within 1.00 MiB for [0-9]+ s: [0-9]+ of [0-9]+ smaller patches "
                                            "looked at, .* voxels/s so far"));
}

}  // namespace
}  // namespace znni
