#include "server/models/temporary_plans.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/temporary.hpp"

namespace znni {
namespace {

namespace fs = std::filesystem;

class TemporaryPlans : public testing::Test {
 protected:
  fs::path folder() const { return temporary_.path() / ("znni-plans-" + std::to_string(geteuid())); }

  const test::TemporaryDirectory temporary_;
};

TEST_F(TemporaryPlans, LieInAFolderOfTheUserThatIsMade) {
  EXPECT_EQ(temporary_plan_directory(temporary_.path()), folder());
  EXPECT_EQ(fs::status(folder()).permissions(), fs::perms::owner_all);
  EXPECT_EQ(temporary_plan_directory(temporary_.path()), folder());
}

TEST_F(TemporaryPlans, AFolderThatOthersMayWriteToIsNotUsed) {
  fs::create_directory(folder());
  fs::permissions(folder(), fs::perms::all);
  EXPECT_EQ(temporary_plan_directory(temporary_.path()), fs::path());
}

TEST_F(TemporaryPlans, ALinkOrAFileInItsPlaceIsNotFollowed) {
  fs::create_directory(temporary_.path() / "elsewhere");
  fs::create_directory_symlink(temporary_.path() / "elsewhere", folder());
  EXPECT_EQ(temporary_plan_directory(temporary_.path()), fs::path());
  fs::remove(folder());
  temporary_.write(folder().filename(), "");
  EXPECT_EQ(temporary_plan_directory(temporary_.path()), fs::path());
}

TEST_F(TemporaryPlans, AFolderThatCanBeMadeCanBeWritten) {
  EXPECT_TRUE(can_write(temporary_.path()));
  EXPECT_TRUE(can_write(temporary_.path() / "new" / "folder"));
  EXPECT_FALSE(fs::exists(temporary_.path() / "new"));
  temporary_.write("file", "");
  EXPECT_FALSE(can_write(temporary_.path() / "file"));
  EXPECT_FALSE(can_write(temporary_.path() / "file" / "below"));
}

TEST_F(TemporaryPlans, TheSystemSaysWhereTemporaryFilesAre) { EXPECT_NE(system_temporary_directory(), fs::path()); }

TEST_F(TemporaryPlans, WithoutTemporaryFilesThereIsNone) {
  EXPECT_EQ(temporary_plan_directory(temporary_.path() / "none"), fs::path());
}

}  // namespace
}  // namespace znni
